// A test that scripts an origin takes the server from here, with what our tests alone need.
@_exported public import OriginServer

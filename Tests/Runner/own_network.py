"""What the tests need of a network namespace: an address beside loopback."""

# The words of a shell that give the namespace the address. A connection to it comes from another machine, as far as a
# service can tell.
ADDRESSED = "ip link set lo up && ip address add 192.0.2.1/32 dev lo && "

/// The descriptions of the metrics that a scrape returns.
enum MetricHelp {
    /// The descriptions by metric name.
    static let sentences = [
        "mediavault_build_info": "1, with the version of the service as a label.",
        "mediavault_damage_total": "Blocks and files that failed verification when read.",
        "mediavault_disk_free_bytes": "Free bytes of the disk that has the vault.",
        "mediavault_disk_size_bytes": "Size of the disk that has the vault.",
        "mediavault_downloads": "Downloads of the queue, by state.",
        "mediavault_errors_total": "Failed requests and downloads of the queue, by error code.",
        "mediavault_evicted_bytes_total": "Bytes of segment files evicted since the vault was opened.",
        "mediavault_feeds_failing": "Subscriptions whose runs have all failed for a day or longer.",
        "mediavault_fetched_bytes_total": "Bytes of media received from origins since the vault was opened.",
        "mediavault_fills_total": "Media answers that needed the origin, by kind.",
        "mediavault_held_bytes": "Plaintext bytes held in the vault.",
        "mediavault_hits_total": "Media answers from the vault alone.",
        "mediavault_http_request_duration_seconds":
            "Time to answer requests completely, by route; event feeds are not counted.",
        "mediavault_http_requests_total": "Answered requests, by route, method and status code.",
        "mediavault_key_generation": "Number of the key generation that new titles use.",
        "mediavault_key_generation_age_seconds": "Time since the current key generation was created.",
        "mediavault_last_verify_sound":
            "1 if the last verification of the whole vault left no damage, 0 if it did.",
        "mediavault_last_verify_timestamp_seconds":
            "When the whole vault was last verified, in seconds since 1970; absent if it never was.",
        "mediavault_max_age_seconds": "Age limit in force for media that was only played; absent if there is none.",
        "mediavault_max_size_bytes": "Size limit in force for segment files; absent if there is none.",
        "mediavault_min_free_bytes": "Disk space to leave free, as in force.",
        "mediavault_open_connections": "Open connections of clients, by listener.",
        "mediavault_open_requests": "Requests being answered.",
        "mediavault_opened_bytes_total": "Plaintext bytes decrypted since the vault was opened.",
        "mediavault_origin_errors_total": "Requests to origins that failed since the vault was opened, by kind.",
        "mediavault_ready": "1 if the vault is open and its index can be read, else 0.",
        "mediavault_resources": "Resources known to the vault.",
        "mediavault_sealed_bytes_total": "Plaintext bytes sealed since the vault was opened.",
        "mediavault_segments": "Segment files.",
        "mediavault_served_bytes_total": "Bytes of answers sent to clients.",
        "mediavault_store_refuses":
            "1 while the store refuses bytes, or if the service only reads the vault.",
        "mediavault_unstored_bytes_total": "Bytes passed through without being stored.",
        "mediavault_used_bytes": "Bytes of segment files on disk.",
    ]
}

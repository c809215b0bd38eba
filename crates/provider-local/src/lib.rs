//! An embedded authoritative DNS server.

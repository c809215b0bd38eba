//! DNS servers that take dynamic updates (RFC 2136).

use super::*;
use proptest::prelude::*;

const RAW: &str = "01234567890123456789012345678901";

fn cipher(key: &str) -> Cipher {
    Cipher::new(&key.to_owned().into()).unwrap()
}

#[test]
fn keys_are_32_bytes_or_their_base64() {
    for (key, works) in [
        (RAW, true),
        ("ZPitL0NGVQBZbTD6DwXJzD8RiStSazzYXQsdUowLURY=", true),
        // 32 bytes of text, though they are 16 characters.
        ("öööööööööööööööö", true),
        // Without padding, of the other alphabet, of 31 and of 33 bytes.
        ("ZPitL0NGVQBZbTD6DwXJzD8RiStSazzYXQsdUowLURY", false),
        ("ZPitL0NGVQBZbTD6DwXJzD8RiStSazzYXQsdUowL_-Y=", false),
        ("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==", false),
        ("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", false),
        ("short", false),
        ("", false),
    ] {
        assert_eq!(Cipher::new(&key.to_owned().into()).is_ok(), works, "{key:?}");
    }
    // Both spellings of one key open the same texts.
    let sealed = cipher(RAW).seal("x", "text");
    assert_eq!(cipher(&BASE64.encode(RAW)).open(&sealed).as_deref(), Some("text"));
}

#[test]
fn what_external_dns_sealed_opens() {
    for (key, sealed, text) in [
        (
            "12345678901234567890123456789012",
            "h8UQ6jelUFUsEIn7SbFktc2MYXPx/q8lySqI4VwfVtVaIbb2nkHWV/88KKbuLtu7fJNzMir8ELVeVnRSY01KdiIuj7ledqZe5ailEjQaU5Z6\
             uEKd5pgs6sH8",
            "heritage=external-dns,external-dns/owner=owner",
        ),
        (
            RAW,
            "YWJjZGVmZ2hpamtsOCI8YqFDbUfk6GaiRGEs1CU5rcZCff5Oe88szsf7O2L3VJgaQXBfKY+y15kI4XVXCaY/ULcYhQTXj4rqpItN5JjC9CSy\
             g03kSx/DbjlGk2PZOBIU+mb6EvXccgQIwaHQmTalemXzb2C1Xu+TPLc=",
            "heritage=external-dns,external-dns/owner=default,external-dns/resource=ingress/default/my-ingress",
        ),
        (
            "atMOlAMKqTSv6bcBBE3u1Xe8Dup58m+7qUZj6n8vyNY=",
            "RkdDQUNQUE1BQkxSQv0zs773T54r4YF2El4v4rwrZsvfopR/lcZeS/IUuUEttF+hbcIE6Li1OsdiyH7anJetn/0mjHnNaB7ThfNEU7o9+/ed\
             RMTvtbAbor6jKOyK4zIBCDzRT+DgLrDR5822UvPYlBK9+vbFVD0=",
            "heritage=external-dns,external-dns/owner=cluster-one,external-dns/resource=crd/team-a/enc",
        ),
    ] {
        assert_eq!(cipher(key).open(sealed).as_deref(), Some(text));
        assert!(looks_sealed(sealed));
        // Line ends inside base64 are passed over, as in Go.
        assert_eq!(cipher(key).open(&format!("{}\r\n{}", &sealed[..40], &sealed[40..])).as_deref(), Some(text));
        assert_eq!(cipher("another key, also of 32 bytes!!!").open(sealed), None, "another key");
        assert_eq!(cipher(key).open(&sealed[..sealed.len() - 4]), None, "cut off");
        assert_eq!(cipher(key).open(&sealed.replacen('2', "3", 1)), None, "damaged");
    }
}

#[test]
fn the_form_is_that_of_external_dns() {
    let text = "heritage=external-dns,external-dns/owner=owner";
    let sealed = BASE64.decode(cipher(RAW).seal("a-www.ex.com TXT", text)).unwrap();
    let (nonce, rest) = sealed.split_first_chunk::<NONCE_LENGTH>().unwrap();
    let packed = cipher(RAW).aead.decrypt(nonce.into(), rest).unwrap();
    assert_eq!(packed, pack(text));
    // Header without name and time, of the highest level; one block in fixed codes; a flush.
    let start = "1f8b08000000000002ffca482dca2c494c4fb54dad28492dca4bccd14dc92bd641e6e8e797e7a516d9824900000000ffff";
    let hex: Vec<String> = packed.iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(hex.concat().starts_with(start), "{hex:?}");
    assert_eq!(packed.len(), sealed.len() - NONCE_LENGTH - 16);
}

#[test]
fn a_nonce_serves_one_text_at_one_place() {
    let nonce = |place, text| cipher(RAW).seal(place, text)[..16].to_owned();
    assert_eq!(nonce("p", "text"), nonce("p", "text"));
    let nonces = [nonce("p", "text"), nonce("p", "other"), nonce("q", "text"), nonce("pt", "ext")];
    assert!((1..nonces.len()).all(|at| !nonces[at..].contains(&nonces[at - 1])), "{nonces:?}");
    let (one, two) = (cipher(RAW), cipher("another key, also of 32 bytes!!!"));
    assert_ne!(one.nonce("p", b"x"), two.nonce("p", b"x"), "another key");
}

#[test]
fn the_look_of_a_sealed_claim() {
    let shortest = cipher(RAW).seal("p", "heritage=external-dns");
    let verification = "dGhpcyB0b2tlbiBpcyB0b28gc2hvcnQ=";
    let long_token = "A".repeat(180);
    for (text, looks) in [
        (shortest.as_str(), true),
        (&long_token, true),
        (verification, false),
        (&shortest[1..], false),
        ("v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A", false),
        ("heritage=external-dns,external-dns/owner=me", false),
        ("", false),
    ] {
        assert_eq!(looks_sealed(text), looks, "{text}");
    }
}

#[test]
fn a_text_that_unpacks_to_too_much_is_none() {
    let sealed = |length| cipher(RAW).open(&cipher(RAW).seal("p", &"x".repeat(length))).map(|text| text.len());
    assert_eq!((sealed(65_535), sealed(65_536)), (Some(65_535), None));
}

#[test]
fn the_key_is_not_printed() {
    assert_eq!(format!("{:?}", cipher(RAW)), "Cipher(..)");
}

proptest! {
    #[test]
    fn what_is_sealed_opens(place in "\\PC{0,20}", text in "\\PC{0,300}") {
        prop_assert_eq!(cipher(RAW).open(&cipher(RAW).seal(&place, &text)), Some(text));
    }

    #[test]
    fn damage_anywhere_is_noticed(text in "\\PC{0,100}", at in any::<prop::sample::Index>(), bit in 0..8_u32) {
        let mut bytes = BASE64.decode(cipher(RAW).seal("p", &text)).unwrap();
        let at = at.index(bytes.len());
        bytes[at] ^= 1_u8 << bit;
        prop_assert_eq!(cipher(RAW).open(&BASE64.encode(bytes)), None);
    }

    #[test]
    fn arbitrary_text_never_panics(text in "\\PC{0,200}", bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = (cipher(RAW).open(&text), looks_sealed(&text), unpack(&bytes));
        prop_assert_eq!(cipher(RAW).open(&BASE64.encode(bytes)), None);
    }
}

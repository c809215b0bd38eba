//! The endpoints of websites in S3, with the hosted zones that they live in.
//!
//! In: what a record is to point to, and its own name. Out: the endpoint of the region, which an alias points to, since a bucket is found
//! by the name that a browser asks for: it is called as the record is. What must hold: external-dns knows none of them, and publishes
//! CNAMEs; so an alias is made only where a CNAME cannot stand or the object asks for one.
//!
//! The ids are AWS's own: *Amazon S3 website endpoints* in the AWS General Reference,
//! <https://docs.aws.amazon.com/general/latest/gr/s3.html#s3_website_region_endpoints>.

use zonewright_core::name::DnsName;

/// The endpoint of the region and its hosted zone, if `target` is that endpoint, or the website of the bucket that is called `name`.
pub(crate) fn of(target: &DnsName, name: &DnsName) -> Option<(DnsName, &'static str)> {
    let is = |endpoint: &str| {
        let bucket = target.as_str().strip_suffix(endpoint);
        bucket.is_some_and(|bucket| bucket.is_empty() || bucket.strip_suffix('.') == Some(name.as_str()))
    };
    let (endpoint, id) = ENDPOINTS.iter().find(|(endpoint, _)| is(endpoint))?;
    Some((DnsName::parse(endpoint).ok()?, id))
}

const ENDPOINTS: &[(&str, &str)] = &[
    ("s3-website-us-east-1.amazonaws.com", "Z3AQBSTGFYJSTF"),
    ("s3-website.us-east-2.amazonaws.com", "Z2O1EMRO9K5GLX"),
    ("s3-website-us-west-1.amazonaws.com", "Z2F56UZL2M1ACD"),
    ("s3-website-us-west-2.amazonaws.com", "Z3BJ6K6RIION7M"),
    ("s3-website.af-south-1.amazonaws.com", "Z83WF9RJE8B12"),
    ("s3-website.ap-east-1.amazonaws.com", "ZNB98KWMFR0R6"),
    ("s3-website.ap-south-1.amazonaws.com", "Z11RGJOFQNVJUP"),
    ("s3-website.ap-south-2.amazonaws.com", "Z02976202B4EZMXIPMXF7"),
    ("s3-website-ap-northeast-1.amazonaws.com", "Z2M4EHUR26P7ZW"),
    ("s3-website.ap-northeast-2.amazonaws.com", "Z3W03O7B5YMIYP"),
    ("s3-website.ap-northeast-3.amazonaws.com", "Z2YQB5RD63NC85"),
    ("s3-website-ap-southeast-1.amazonaws.com", "Z3O0J2DXBE1FTB"),
    ("s3-website-ap-southeast-2.amazonaws.com", "Z1WCIGYICN2BYD"),
    ("s3-website.ap-southeast-3.amazonaws.com", "Z01846753K324LI26A3VV"),
    ("s3-website.ap-southeast-4.amazonaws.com", "Z0312387243XT5FE14WFO"),
    ("s3-website.ap-southeast-5.amazonaws.com", "Z08660063OXLMA7F1FJHU"),
    ("s3-website.ca-central-1.amazonaws.com", "Z1QDHH18159H29"),
    ("s3-website.ca-west-1.amazonaws.com", "Z03565811Z33SLEZTHOUL"),
    ("s3-website.cn-north-1.amazonaws.com.cn", "Z5CN8UMXT92WN"),
    ("s3-website.cn-northwest-1.amazonaws.com.cn", "Z282HJ1KT0DH03"),
    ("s3-website.eu-central-1.amazonaws.com", "Z21DNDUVLTQW6Q"),
    ("s3-website.eu-central-2.amazonaws.com", "Z030506016YDQGETNASS"),
    ("s3-website-eu-west-1.amazonaws.com", "Z1BKCTXD74EZPE"),
    ("s3-website.eu-west-2.amazonaws.com", "Z3GKZC51ZF0DB4"),
    ("s3-website.eu-west-3.amazonaws.com", "Z3R1K369G5AVDG"),
    ("s3-website.eu-north-1.amazonaws.com", "Z3BAZG2TWCNX0D"),
    ("s3-website.eu-south-1.amazonaws.com", "Z30OZKI7KPW7MI"),
    ("s3-website.eu-south-2.amazonaws.com", "Z0081959F7139GRJC19J"),
    ("s3-website.il-central-1.amazonaws.com", "Z09640613K4A3MN55U7GU"),
    ("s3-website.me-central-1.amazonaws.com", "Z06143092I8HRXZRUZROF"),
    ("s3-website.me-south-1.amazonaws.com", "Z1MPMWCPA7YB62"),
    ("s3-website-sa-east-1.amazonaws.com", "Z7KQH4QJS55SO"),
    ("s3-website.us-gov-east-1.amazonaws.com", "Z2NIFVYYW2VKV1"),
    ("s3-website-us-gov-west-1.amazonaws.com", "Z31GFT0UA1I2HV"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn found(target: &str, name: &str) -> Option<(String, &'static str)> {
        let parse = |text: &str| DnsName::parse(text).unwrap();
        of(&parse(target), &parse(name)).map(|(endpoint, id)| (endpoint.to_string(), id))
    }

    #[test]
    fn a_website_is_found_by_its_endpoint_or_by_its_bucket() {
        for (endpoint, id) in ENDPOINTS {
            let expected = Some(((*endpoint).to_owned(), *id));
            assert_eq!(found(endpoint, "example.org"), expected);
            assert_eq!(found(&format!("example.org.{endpoint}"), "Example.org"), expected);
            // The bucket of another name answers nothing there.
            assert_eq!(found(&format!("www.example.org.{endpoint}"), "example.org"), None);
            assert!(crate::canonical_zone::of(&DnsName::parse(endpoint).unwrap()).is_none());
        }
        assert_eq!(found("s3-website.mars-1.amazonaws.com", "example.org"), None);
    }
}

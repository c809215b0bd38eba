//! The hosted zones that alias records point into, by the AWS host names that live in them.
//!
//! In: the host name of a load balancer, a distribution, an API. Out: the id of its hosted zone, which an alias record has to
//! carry. What must hold: whole labels are compared, so `notcloudfront.net` is no distribution; no suffix lies within another.
//!
//! The ids are AWS's own: *Service endpoints and quotas* in the AWS General Reference, as external-dns has them.

use zonewright_core::name::DnsName;

/// The id of the hosted zone that `target` lives in, if it is the host name of an AWS resource that an alias can point to.
///
/// # Examples
/// ```
/// use zonewright_core::name::DnsName;
/// use zonewright_provider_route53::canonical_zone;
///
/// let balancer = DnsName::parse("web-1.eu-west-1.elb.amazonaws.com")?;
/// assert_eq!(canonical_zone::of(&balancer), Some("Z32O12XQLNTSW2"));
/// assert_eq!(canonical_zone::of(&DnsName::parse("www.example.org")?), None);
/// # Ok::<(), zonewright_core::name::NameError>(())
/// ```
pub fn of(target: &DnsName) -> Option<&'static str> {
    let name = target.as_str();
    ZONES.iter().find(|(suffix, _)| within(name, suffix)).map(|(_, id)| *id)
}

fn within(name: &str, suffix: &str) -> bool {
    name.strip_suffix(suffix).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Suffix of the host names and id of their hosted zone.
#[rustfmt::skip]
const ZONES: &[(&str, &str)] = &[
    // Application Load Balancers and Classic Load Balancers
    ("us-east-2.elb.amazonaws.com", "Z3AADJGX6KTTL2"),
    ("us-east-1.elb.amazonaws.com", "Z35SXDOTRQ7X7K"),
    ("us-west-1.elb.amazonaws.com", "Z368ELLRRE2KJ0"),
    ("us-west-2.elb.amazonaws.com", "Z1H1FL5HABSF5"),
    ("ca-central-1.elb.amazonaws.com", "ZQSVJUPU6J1EY"),
    ("ca-west-1.elb.amazonaws.com", "Z06473681N0SF6OS049SD"),
    ("ap-east-1.elb.amazonaws.com", "Z3DQVH9N71FHZ0"),
    ("ap-east-2.elb.amazonaws.com", "Z02789141MW7T1WBU19PO"),
    ("ap-south-1.elb.amazonaws.com", "ZP97RAFLXTNZK"),
    ("ap-south-2.elb.amazonaws.com", "Z0173938T07WNTVAEPZN"),
    ("ap-northeast-2.elb.amazonaws.com", "ZWKZPGTI48KDX"),
    ("ap-northeast-3.elb.amazonaws.com", "Z5LXEXXYW11ES"),
    ("ap-southeast-1.elb.amazonaws.com", "Z1LMS91P8CMLE5"),
    ("ap-southeast-2.elb.amazonaws.com", "Z1GM3OXH4ZPM65"),
    ("ap-southeast-3.elb.amazonaws.com", "Z08888821HLRG5A9ZRTER"),
    ("ap-southeast-4.elb.amazonaws.com", "Z09517862IB2WZLPXG76F"),
    ("ap-southeast-5.elb.amazonaws.com", "Z06010284QMVVW7WO5J"),
    ("ap-southeast-6.elb.amazonaws.com", "Z023301818UFJ50CIO0MV"),
    ("ap-southeast-7.elb.amazonaws.com", "Z0390008CMBRTHFGWBCB"),
    ("ap-northeast-1.elb.amazonaws.com", "Z14GRHDCWA56QT"),
    ("eu-central-1.elb.amazonaws.com", "Z215JYRZR1TBD5"),
    ("eu-central-2.elb.amazonaws.com", "Z06391101F2ZOEP8P5EB3"),
    ("eu-west-1.elb.amazonaws.com", "Z32O12XQLNTSW2"),
    ("eu-west-2.elb.amazonaws.com", "ZHURV8PSTC4K8"),
    ("eu-west-3.elb.amazonaws.com", "Z3Q77PNBQS71R4"),
    ("eu-north-1.elb.amazonaws.com", "Z23TAZ6LKFMNIO"),
    ("eu-south-1.elb.amazonaws.com", "Z3ULH7SSC9OV64"),
    ("eu-south-2.elb.amazonaws.com", "Z0956581394HF5D5LXGAP"),
    ("sa-east-1.elb.amazonaws.com", "Z2P70J7HTTTPLU"),
    ("cn-north-1.elb.amazonaws.com.cn", "Z1GDH35T77C1KE"),
    ("cn-northwest-1.elb.amazonaws.com.cn", "ZM7IZAIOVVDZF"),
    ("us-gov-west-1.elb.amazonaws.com", "Z33AYJ8TM3BH4J"),
    ("us-gov-east-1.elb.amazonaws.com", "Z166TLBEWOO7G0"),
    ("mx-central-1.elb.amazonaws.com", "Z023552324OKD1BB28BH5"),
    ("me-central-1.elb.amazonaws.com", "Z08230872XQRWHG2XF6I"),
    ("me-south-1.elb.amazonaws.com", "ZS929ML54UICD"),
    ("af-south-1.elb.amazonaws.com", "Z268VQBMOI5EKX"),
    ("il-central-1.elb.amazonaws.com", "Z09170902867EHPV2DABU"),
    // Network Load Balancers
    ("elb.us-east-2.amazonaws.com", "ZLMOA37VPKANP"),
    ("elb.us-east-1.amazonaws.com", "Z26RNL4JYFTOTI"),
    ("elb.us-west-1.amazonaws.com", "Z24FKFUX50B4VW"),
    ("elb.us-west-2.amazonaws.com", "Z18D5FSROUN65G"),
    ("elb.ca-central-1.amazonaws.com", "Z2EPGBW3API2WT"),
    ("elb.ca-west-1.amazonaws.com", "Z02754302KBB00W2LKWZ9"),
    ("elb.ap-east-1.amazonaws.com", "Z12Y7K3UBGUAD1"),
    ("elb.ap-east-2.amazonaws.com", "Z09176273OC2HWIAUNYW"),
    ("elb.ap-south-1.amazonaws.com", "ZVDDRBQ08TROA"),
    ("elb.ap-south-2.amazonaws.com", "Z0711778386UTO08407HT"),
    ("elb.ap-northeast-3.amazonaws.com", "Z1GWIQ4HH19I5X"),
    ("elb.ap-northeast-2.amazonaws.com", "ZIBE1TIR4HY56"),
    ("elb.ap-southeast-1.amazonaws.com", "ZKVM4W9LS7TM"),
    ("elb.ap-southeast-2.amazonaws.com", "ZCT6FZBF4DROD"),
    ("elb.ap-southeast-3.amazonaws.com", "Z01971771FYVNCOVWJU1G"),
    ("elb.ap-southeast-4.amazonaws.com", "Z01156963G8MIIL7X90IV"),
    ("elb.ap-southeast-5.amazonaws.com", "Z026317210H9ACVTRO6FB"),
    ("elb.ap-southeast-6.amazonaws.com", "Z01392953RKV2Q3RBP0KU"),
    ("elb.ap-southeast-7.amazonaws.com", "Z054363131YWATEMWRG5L"),
    ("elb.ap-northeast-1.amazonaws.com", "Z31USIVHYNEOWT"),
    ("elb.eu-central-1.amazonaws.com", "Z3F0SRJ5LGBH90"),
    ("elb.eu-central-2.amazonaws.com", "Z02239872DOALSIDCX66S"),
    ("elb.eu-west-1.amazonaws.com", "Z2IFOLAFXWLO4F"),
    ("elb.eu-west-2.amazonaws.com", "ZD4D7Y8KGAS4G"),
    ("elb.eu-west-3.amazonaws.com", "Z1CMS0P5QUZ6D5"),
    ("elb.eu-north-1.amazonaws.com", "Z1UDT6IFJ4EJM"),
    ("elb.eu-south-1.amazonaws.com", "Z23146JA1KNAFP"),
    ("elb.eu-south-2.amazonaws.com", "Z1011216NVTVYADP1SSV"),
    ("elb.sa-east-1.amazonaws.com", "ZTK26PT1VY4CU"),
    ("elb.cn-north-1.amazonaws.com.cn", "Z3QFB96KMJ7ED6"),
    ("elb.cn-northwest-1.amazonaws.com.cn", "ZQEIKTCZ8352D"),
    ("elb.us-gov-west-1.amazonaws.com", "ZMG1MZ2THAWF1"),
    ("elb.us-gov-east-1.amazonaws.com", "Z1ZSMQQ6Q24QQ8"),
    ("elb.mx-central-1.amazonaws.com", "Z02031231H3ID6HYJ9A7U"),
    ("elb.me-central-1.amazonaws.com", "Z00282643NTTLPANJJG2P"),
    ("elb.me-south-1.amazonaws.com", "Z3QSRYVP46NYYV"),
    ("elb.af-south-1.amazonaws.com", "Z203XCE67M25HM"),
    ("elb.il-central-1.amazonaws.com", "Z0313266YDI6ZRHTGQY4"),
    // Global Accelerator
    ("awsglobalaccelerator.com", "Z2BJ6XQ5FK7U4H"),
    // Cloudfront and AWS API Gateway edge-optimized endpoints
    ("cloudfront.net", "Z2FDTNDATAQYW2"),
    // VPC Endpoint (PrivateLink)
    ("eu-west-2.vpce.amazonaws.com", "Z7K1066E3PUKB"),
    ("us-east-2.vpce.amazonaws.com", "ZC8PG0KIFKBRI"),
    ("af-south-1.vpce.amazonaws.com", "Z09302161J80N9A7UTP7U"),
    ("ap-east-1.vpce.amazonaws.com", "Z2LIHJ7PKBEMWN"),
    ("ap-east-2.vpce.amazonaws.com", "Z09379811HWP0POAUWVN3"),
    ("ap-northeast-1.vpce.amazonaws.com", "Z2E726K9Y6RL4W"),
    ("ap-northeast-2.vpce.amazonaws.com", "Z27UANNT0PRK1T"),
    ("ap-northeast-3.vpce.amazonaws.com", "Z376B5OMM2JZL2"),
    ("ap-south-1.vpce.amazonaws.com", "Z2KVTB3ZLFM7JR"),
    ("ap-south-2.vpce.amazonaws.com", "Z0952991RWSF5AHIQDIY"),
    ("ap-southeast-1.vpce.amazonaws.com", "Z18LLCSTV4NVNL"),
    ("ap-southeast-2.vpce.amazonaws.com", "ZDK2GCRPAFKGO"),
    ("ap-southeast-3.vpce.amazonaws.com", "Z03881013RZ9BYYZO8N5W"),
    ("ap-southeast-4.vpce.amazonaws.com", "Z07508191CO1RNBX3X3AU"),
    ("ca-central-1.vpce.amazonaws.com", "ZRCXCF510Y6P9"),
    ("eu-central-1.vpce.amazonaws.com", "Z273ZU8SZ5RJPC"),
    ("eu-central-2.vpce.amazonaws.com", "Z045369019J4FUQ4S272E"),
    ("eu-north-1.vpce.amazonaws.com", "Z3OWWK6JFDEDGC"),
    ("eu-south-1.vpce.amazonaws.com", "Z2A5FDNRLY7KZG"),
    ("eu-south-2.vpce.amazonaws.com", "Z014396544HENR57XQCJ"),
    ("eu-west-1.vpce.amazonaws.com", "Z38GZ743OKFT7T"),
    ("eu-west-3.vpce.amazonaws.com", "Z1DWHTMFP0WECP"),
    ("me-central-1.vpce.amazonaws.com", "Z07122992YCEUCB9A9570"),
    ("me-south-1.vpce.amazonaws.com", "Z3B95P3VBGEQGY"),
    ("sa-east-1.vpce.amazonaws.com", "Z2LXUWEVLCVZIB"),
    ("us-east-1.vpce.amazonaws.com", "Z7HUB22UULQXV"),
    ("us-gov-east-1.vpce.amazonaws.com", "Z2MU5TEIGO9WXB"),
    ("us-gov-west-1.vpce.amazonaws.com", "Z12529ZODG2B6H"),
    ("us-west-1.vpce.amazonaws.com", "Z12I86A8N7VCZO"),
    ("us-west-2.vpce.amazonaws.com", "Z1YSA3EXCYUU9Z"),
    // AWS API Gateway (Regional endpoints)
    ("execute-api.us-east-2.amazonaws.com", "ZOJJZC49E0EPZ"),
    ("execute-api.us-east-1.amazonaws.com", "Z1UJRXOUMOOFQ8"),
    ("execute-api.us-west-1.amazonaws.com", "Z2MUQ32089INYE"),
    ("execute-api.us-west-2.amazonaws.com", "Z2OJLYMUO9EFXC"),
    ("execute-api.af-south-1.amazonaws.com", "Z2DHW2332DAMTN"),
    ("execute-api.ap-east-1.amazonaws.com", "Z3FD1VL90ND7K5"),
    ("execute-api.ap-east-2.amazonaws.com", "Z02909591O7FG9Q56HWB1"),
    ("execute-api.ap-south-1.amazonaws.com", "Z3VO1THU9YC4UR"),
    ("execute-api.ap-northeast-2.amazonaws.com", "Z20JF4UZKIW1U8"),
    ("execute-api.ap-southeast-1.amazonaws.com", "ZL327KTPIQFUL"),
    ("execute-api.ap-southeast-2.amazonaws.com", "Z2RPCDW04V8134"),
    ("execute-api.ap-northeast-1.amazonaws.com", "Z1YSHQZHG15GKL"),
    ("execute-api.ca-central-1.amazonaws.com", "Z19DQILCV0OWEC"),
    ("execute-api.eu-central-1.amazonaws.com", "Z1U9ULNL0V5AJ3"),
    ("execute-api.eu-west-1.amazonaws.com", "ZLY8HYME6SFDD"),
    ("execute-api.eu-west-2.amazonaws.com", "ZJ5UAJN8Y3Z2Q"),
    ("execute-api.eu-south-1.amazonaws.com", "Z3BT4WSQ9TDYZV"),
    ("execute-api.eu-west-3.amazonaws.com", "Z3KY65QIEKYHQQ"),
    ("execute-api.eu-south-2.amazonaws.com", "Z02499852UI5HEQ5JVWX3"),
    ("execute-api.eu-north-1.amazonaws.com", "Z3UWIKFBOOGXPP"),
    ("execute-api.me-south-1.amazonaws.com", "Z20ZBPC0SS8806"),
    ("execute-api.me-central-1.amazonaws.com", "Z08780021BKYYY8U0YHTV"),
    ("execute-api.sa-east-1.amazonaws.com", "ZCMLWB8V5SYIT"),
    ("execute-api.us-gov-east-1.amazonaws.com", "Z3SE9ATJYCRCZJ"),
    ("execute-api.us-gov-west-1.amazonaws.com", "Z1K6XKP9SAGWDV"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(target: &str) -> Option<&'static str> {
        of(&DnsName::parse(target).unwrap())
    }

    #[test]
    fn every_suffix_is_found_under_a_name_and_lies_in_no_other() {
        for (suffix, id) in ZONES {
            assert_eq!(zone(&format!("foo.{suffix}")), Some(*id), "{suffix}");
            let around = ZONES.iter().filter(|(other, _)| within(suffix, other)).count();
            assert_eq!(around, 1, "{suffix} is listed twice or lies within another suffix");
        }
    }

    #[test]
    fn ids_and_suffixes_are_well_formed() {
        for (suffix, id) in ZONES {
            assert_eq!(DnsName::parse(suffix).unwrap().as_str(), *suffix);
            assert!(id.starts_with('Z') && id.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit()), "{id}");
        }
    }

    #[test]
    fn whole_labels_are_compared_without_case() {
        assert_eq!(zone("D1.CloudFront.NET"), Some("Z2FDTNDATAQYW2"));
        assert_eq!(zone("notcloudfront.net"), None);
        assert_eq!(zone("cloudfront.net.example.org"), None);
    }

    #[test]
    fn other_names_have_none() {
        assert_eq!(zone("foo.example.org"), None);
        assert_eq!(zone("foo.cn-north-1.elb.amazonaws.com.tld"), None);
        assert_eq!(zone("foo.mars-north-1.elb.amazonaws.com"), None);
    }
}

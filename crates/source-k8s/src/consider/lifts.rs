//! The flags that keep objects from counting, each with the way to lift it. A new flag of that sort needs a row here; a test
//! compares.

use zonewright_core::explain::Cause;

use crate::annotations::{Annotations, CONTROLLER, CONTROLLER_VALUE};
use crate::objects::{Meta, ServiceType};
use crate::options::SourceOptions;
use crate::selector::MetadataSelector;

/// One flag.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lift {
    pub(super) cause: Cause,
    /// What is in force, for people; `None` if nothing is.
    pub(super) given: fn(&SourceOptions, &Meta) -> Option<String>,
    /// Takes the flag over from the options in force.
    take: fn(&mut SourceOptions, &SourceOptions),
}

fn flag(name: &str, value: impl std::fmt::Display) -> Option<String> {
    let value = value.to_string();
    (!value.is_empty()).then(|| format!("--{name}={value}"))
}

fn switch(name: &str, given: bool) -> Option<String> {
    given.then(|| format!("--{name}"))
}

pub(super) const LIFTS: &[Lift] = &[
    Lift {
        cause: Cause::Namespace,
        given: |options, _| flag("namespace", &options.namespace),
        take: |to, from| to.namespace.clone_from(&from.namespace),
    },
    Lift {
        cause: Cause::AnnotationFilter,
        given: |options, _| flag("annotation-filter", &options.annotation_filter),
        take: |to, from| to.annotation_filter = from.annotation_filter.clone(),
    },
    Lift {
        cause: Cause::LabelFilter,
        given: |options, _| flag("label-filter", &options.label_filter),
        take: |to, from| to.label_filter = from.label_filter.clone(),
    },
    Lift {
        cause: Cause::OtherController,
        given: |options, meta| {
            let stated = Annotations::new(&options.annotation_prefixes, &meta.annotations).find(CONTROLLER)?;
            (stated.value != CONTROLLER_VALUE).then(|| format!("{}={}", stated.key, stated.value))
        },
        take: |to, from| to.any_controller = from.any_controller,
    },
    Lift {
        cause: Cause::IngressClass,
        given: |options, _| flag("ingress-class", options.ingress_class.join(",")),
        take: |to, from| to.ingress_class.clone_from(&from.ingress_class),
    },
    Lift {
        cause: Cause::ServiceType,
        given: |options, _| {
            let types: Vec<String> = options.service_type_filter.iter().map(ServiceType::to_string).collect();
            flag("service-type-filter", types.join(","))
        },
        take: |to, from| to.service_type_filter.clone_from(&from.service_type_filter),
    },
    Lift {
        cause: Cause::GatewayFilter,
        given: |options, _| flag("gateway-name", &options.gateway_name),
        take: |to, from| to.gateway_name.clone_from(&from.gateway_name),
    },
    Lift {
        cause: Cause::GatewayFilter,
        given: |options, _| flag("gateway-namespace", &options.gateway_namespace),
        take: |to, from| to.gateway_namespace.clone_from(&from.gateway_namespace),
    },
    Lift {
        cause: Cause::GatewayFilter,
        given: |options, _| flag("gateway-label-filter", &options.gateway_label_filter),
        take: |to, from| to.gateway_label_filter = from.gateway_label_filter.clone(),
    },
    Lift {
        cause: Cause::IgnoredField,
        given: |options, _| switch("ignore-hostname-annotation", options.ignore_hostname_annotation),
        take: |to, from| to.ignore_hostname_annotation = from.ignore_hostname_annotation,
    },
    Lift {
        cause: Cause::IgnoredField,
        given: |options, _| switch("ignore-ingress-rules-spec", options.ignore_ingress_rules_spec),
        take: |to, from| to.ignore_ingress_rules_spec = from.ignore_ingress_rules_spec,
    },
    Lift {
        cause: Cause::IgnoredField,
        given: |options, _| switch("ignore-ingress-tls-spec", options.ignore_ingress_tls_spec),
        take: |to, from| to.ignore_ingress_tls_spec = from.ignore_ingress_tls_spec,
    },
    Lift {
        cause: Cause::InternalService,
        given: |options, _| {
            let off = !options.publish_internal_services;
            off.then(|| "--publish-internal-services is not given".to_owned())
        },
        take: |to, from| to.publish_internal_services = from.publish_internal_services,
    },
];

/// The options without any of these flags.
pub(super) fn all(options: &SourceOptions) -> SourceOptions {
    SourceOptions {
        namespace: String::new(),
        annotation_filter: MetadataSelector::default(),
        label_filter: MetadataSelector::default(),
        any_controller: true,
        ingress_class: Vec::new(),
        service_type_filter: Vec::new(),
        gateway_name: String::new(),
        gateway_namespace: String::new(),
        gateway_label_filter: MetadataSelector::default(),
        ignore_hostname_annotation: false,
        ignore_ingress_rules_spec: false,
        ignore_ingress_tls_spec: false,
        publish_internal_services: true,
        ..options.clone()
    }
}

/// The options with this flag alone in force.
pub(super) fn all_but(options: &SourceOptions, lift: &Lift) -> SourceOptions {
    let mut lifted = all(options);
    (lift.take)(&mut lifted, options);
    lifted
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With every flag taken over again the options are those in force: none is lifted without a row.
    #[test]
    fn every_flag_that_is_lifted_has_a_row() {
        let options = SourceOptions {
            namespace: "a".to_owned(),
            annotation_filter: MetadataSelector::annotations("a=b").unwrap(),
            label_filter: MetadataSelector::labels("a=b").unwrap(),
            ingress_class: vec!["public".to_owned()],
            service_type_filter: vec![ServiceType::LoadBalancer],
            gateway_name: "a".to_owned(),
            gateway_namespace: "a".to_owned(),
            gateway_label_filter: MetadataSelector::labels("a=b").unwrap(),
            ignore_hostname_annotation: true,
            ignore_ingress_rules_spec: true,
            ignore_ingress_tls_spec: true,
            ..SourceOptions::default()
        };
        let mut again = all(&options);
        for lift in LIFTS {
            assert_ne!(again, options);
            (lift.take)(&mut again, &options);
            let meta = Meta::default();
            assert!(lift.cause == Cause::OtherController || (lift.given)(&options, &meta).is_some(), "{lift:?}");
        }
        assert_eq!(again, options);
    }
}

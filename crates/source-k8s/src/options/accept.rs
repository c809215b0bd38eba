//! Which objects count: namespace, filters, the controller annotation, types and classes.

use std::fmt;

use super::SourceOptions;
use crate::annotations::{Annotations, CONTROLLER, CONTROLLER_VALUE, INGRESS_CLASS};
use crate::lookup::ReadScope;
use crate::objects::{Ingress, Meta, Service, ServiceType};

/// Why an object does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rejection {
    /// It is in another namespace.
    Namespace,
    /// The annotation filter does not match.
    AnnotationFilter,
    /// The label filter does not match.
    LabelFilter,
    /// Its controller annotation names someone else.
    Controller {
        /// The whole key.
        key: String,
        /// Its value.
        found: String,
    },
    /// The type filter does not have the service's type.
    ServiceType(ServiceType),
    /// The class list does not have the ingress's class.
    IngressClass(String),
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Namespace => f.write_str("it is not in the namespace of --namespace"),
            Self::AnnotationFilter => f.write_str("--annotation-filter does not match its annotations"),
            Self::LabelFilter => f.write_str("--label-filter does not match its labels"),
            Self::Controller { key, found } => {
                write!(f, "controller '{key}' value does not match, found: '{found}', required: '{CONTROLLER_VALUE}'")
            }
            Self::ServiceType(service_type) => write!(f, "--service-type-filter does not have the type {service_type}"),
            Self::IngressClass(class) => write!(f, "--ingress-class does not have the class {class:?}"),
        }
    }
}

impl SourceOptions {
    /// Whether an object of any kind counts.
    ///
    /// # Errors
    /// The first rule that speaks against it.
    pub fn accepts(&self, meta: &Meta) -> Result<(), Rejection> {
        if !ReadScope::of(&self.namespace).has(&meta.namespace) {
            return Err(Rejection::Namespace);
        }
        self.passes_filters(meta)?;
        self.accepts_controller(meta)
    }

    /// Whether the annotation and label filters let an object through.
    ///
    /// # Errors
    /// The first filter that speaks against it.
    pub fn passes_filters(&self, meta: &Meta) -> Result<(), Rejection> {
        if !self.annotation_filter.matches(&meta.annotations) {
            return Err(Rejection::AnnotationFilter);
        }
        if !self.label_filter.matches(&meta.labels) {
            return Err(Rejection::LabelFilter);
        }
        Ok(())
    }

    /// Whether an object that others refer to counts, as far as its controller annotation goes.
    ///
    /// # Errors
    /// The annotation names someone else.
    pub fn accepts_controller(&self, meta: &Meta) -> Result<(), Rejection> {
        match Annotations::new(&self.annotation_prefixes, &meta.annotations).find(CONTROLLER) {
            Some(other) if other.value != CONTROLLER_VALUE && !self.any_controller => {
                Err(Rejection::Controller { key: other.key.to_owned(), found: other.value.to_owned() })
            }
            _ => Ok(()),
        }
    }

    /// Whether a service counts.
    ///
    /// # Errors
    /// The first rule that speaks against it.
    pub fn accepts_service(&self, service: &Service) -> Result<(), Rejection> {
        let service_type = service.spec.service_type;
        if !self.takes_type(service_type) {
            return Err(Rejection::ServiceType(service_type));
        }
        self.accepts(&service.metadata)
    }

    /// Whether an ingress counts. Its class is `spec.ingressClassName`, else the annotation that was there before.
    ///
    /// # Errors
    /// The first rule that speaks against it.
    pub fn accepts_ingress(&self, ingress: &Ingress) -> Result<(), Rejection> {
        let class = match &*ingress.spec.ingress_class_name {
            "" => ingress.metadata.annotations.get(INGRESS_CLASS),
            class => Some(class),
        };
        let listed = class.is_some_and(|class| self.ingress_class.iter().any(|wanted| *wanted == *class));
        if !self.ingress_class.is_empty() && !listed {
            return Err(Rejection::IngressClass(class.unwrap_or_default().to_owned()));
        }
        self.accepts(&ingress.metadata)
    }
}

//! Names and targets that templates make of whole objects (`--fqdn-template` and its kin).
//!
//! In come an object as the API server gave it and what has been asked for already; out come further names and endpoints.
//! What must hold: a template that fails costs only what it would have given, is reported on the object, and lets nothing go
//! that is published for the object. A name without target is reported and waits for one. A template that gives no names at
//! all is silent: that is how templates choose objects.

use std::rc::Rc;
use std::sync::Arc;

use zonewright_core::endpoint::{Severity, Sharing};
use zonewright_core::{DnsName, RData};
use zonewright_template::{Input, ObjectKind as TypedKind, Shape, Skipped, Template, TemplateFailure};

use super::{EndpointSettings, Mapping};
use crate::kind::Kind;
use crate::options::SourceKind;

const TEMPLATE_FAILED: &str = "TemplateFailed";
const TEMPLATE_ITEM: &str = "TemplateItemSkipped";
const TEMPLATE_INCOMPLETE: &str = "TemplateIncomplete";
/// Why a name waits.
const NO_TARGET: &str = "its template gives no target";

impl Mapping<'_> {
    /// The names that `--fqdn-template` gives, if it is its turn: nothing was asked for yet, or templates add to it.
    pub(crate) fn template_names(&mut self) -> Vec<DnsName> {
        let Some(template) = self.scope.options.templates.fqdn.clone().filter(|_| self.is_their_turn()) else {
            return Vec::new();
        };
        let label = self.settings().resource.clone();
        let names = self.run(&template, label, |input| template.names(input)).unwrap_or_default();
        names.iter().filter_map(|name| self.owner("--fqdn-template", name)).collect()
    }

    /// Asks for the pairs of name and target that `--fqdn-target-template` gives, if it is its turn. They have no settings
    /// and no label.
    pub(crate) fn publish_template_pairs(&mut self) {
        if let Some(template) = self.scope.options.templates.fqdn_target.clone().filter(|_| self.is_their_turn()) {
            self.without_settings(|mapping| mapping.want_pairs(&template));
        }
    }

    /// For sources whose objects state no targets that templates could use: asks for the pairs of
    /// `--fqdn-target-template`, then for the names of `--fqdn-template` at the targets of `--target-template`. `label`:
    /// whether the endpoints carry the object's label and TTL, else neither.
    pub(crate) fn apply_templates(&mut self, label: bool) {
        if label {
            if let Some(template) = self.scope.options.templates.fqdn_target.clone().filter(|_| self.is_their_turn()) {
                self.want_pairs(&template);
            }
            self.want_names_at_targets();
        } else {
            self.publish_template_pairs();
            self.without_settings(Self::want_names_at_targets);
        }
    }

    /// Pods and nodes that a template gives one name are members of it.
    fn sharing(&self) -> Sharing {
        match self.scope.role.source {
            SourceKind::Pod | SourceKind::Node => Sharing::Union,
            _ => Sharing::Holder,
        }
    }

    fn is_their_turn(&self) -> bool {
        self.is_empty() || self.scope.options.combine_fqdn_annotation
    }

    fn without_settings(&mut self, work: impl FnOnce(&mut Self)) {
        let policy = self.settings().policy;
        let own = self.put_settings(Rc::new(EndpointSettings { policy, ..EndpointSettings::default() }));
        work(self);
        self.put_settings(own);
    }

    fn want_pairs(&mut self, template: &Template) {
        let label = self.settings().resource.clone();
        let Some(pairs) = self.run(template, label, |input| template.pairs(input)) else { return };
        let field = format!("--{}", template.flag());
        for skipped in pairs.skipped {
            self.skip_item(&field, &skipped);
        }
        for pair in pairs.pairs {
            let targets = self.targets(&field, [pair.target.as_str()]);
            if let Some(name) = self.owner(&field, &pair.host) {
                self.want_or_wait(&name, &targets, self.sharing(), NO_TARGET);
            }
        }
    }

    /// Reports an item that is no pair. One that has a host asks for it all the same.
    fn skip_item(&mut self, field: &str, Skipped { item, reason }: &Skipped) {
        let host = item.split_once(':').map(|(host, _)| host.trim()).filter(|host| !host.is_empty());
        let severity = if host.is_some() { Severity::Warning } else { Severity::Normal };
        self.note(severity, TEMPLATE_ITEM, format!("{field}, {item:?}: {reason}"));
        if let Some(name) = host.and_then(|host| self.owner(field, host)) {
            self.wait(&name, NO_TARGET);
        }
    }

    fn want_names_at_targets(&mut self) {
        let names = self.template_names();
        let Some(template) = self.scope.options.templates.target.clone() else {
            return self.warn_of_no_target_flag(&names);
        };
        if names.is_empty() {
            return self.note_no_name_flag();
        }
        let label = self.settings().resource.clone();
        let Some(texts) = self.run(&template, label, |input| template.names(input)) else { return };
        if texts.is_empty() {
            let names = shown(&names);
            self.warn(
                TEMPLATE_INCOMPLETE,
                format!("--target-template gives no target for {names}; expected an IP address or a host name"),
            );
        }
        let targets: Vec<RData> = self.targets("--target-template", texts.iter().map(String::as_str));
        for name in &names {
            self.want_or_wait(name, &targets, self.sharing(), NO_TARGET);
        }
    }

    /// Reports names that can have no target.
    fn warn_of_no_target_flag(&mut self, names: &[DnsName]) {
        if !names.is_empty() {
            let names = shown(names);
            let message = format!(
                "--fqdn-template gives {names}, and --target-template is not set; expected both, since this kind of object \
                 states no targets that templates could use"
            );
            self.warn(TEMPLATE_INCOMPLETE, message);
        }
    }

    /// Reports targets that can have no name: not where a template of names leaves the object out.
    fn note_no_name_flag(&mut self) {
        if !self.scope.options.templates.gives_names() && self.is_their_turn() {
            let message = "--target-template is set, and --fqdn-template, which names what is to have the targets, is not; \
                           expected both";
            self.note(Severity::Normal, TEMPLATE_INCOMPLETE, message.to_owned());
        }
    }

    /// Runs a template over the object; what fails is reported, and what is published under `label` stays.
    fn run<T>(
        &mut self,
        template: &Template,
        label: Option<Arc<str>>,
        run: impl FnOnce(Input<'_>) -> Result<T, TemplateFailure>,
    ) -> Option<T> {
        let object = self.meta.whole.clone()?;
        let role = self.scope.role;
        let source = Some(role.source.as_str());
        let input = Input { object: &object, shape: shape(role.source, role.kind), source, sources: SourceKind::WORDS };
        match run(input) {
            Ok(made) => Some(made),
            Err(failure) => {
                self.warn(TEMPLATE_FAILED, format!("--{failure}; what is published for this object stays"));
                self.cannot_determine([label], &format!("--{} failed", template.flag()));
                None
            }
        }
    }
}

/// Names in a message: the first few.
fn shown(names: &[DnsName]) -> String {
    const MOST: usize = 5;
    let first = names.iter().take(MOST).map(DnsName::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MOST) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// How the source of a kind reads its objects.
fn shape(source: SourceKind, kind: Kind) -> Shape {
    Shape::Typed(match kind {
        Kind::Service => TypedKind::Service,
        Kind::Ingress => TypedKind::Ingress,
        Kind::Node => TypedKind::Node,
        Kind::Pod => TypedKind::Pod,
        Kind::HttpRoute => TypedKind::HttpRoute,
        Kind::GrpcRoute => TypedKind::GrpcRoute,
        Kind::TlsRoute => TypedKind::TlsRoute,
        Kind::TcpRoute => TypedKind::TcpRoute,
        Kind::UdpRoute => TypedKind::UdpRoute,
        Kind::IstioGateway => TypedKind::IstioGateway,
        Kind::IstioVirtualService => TypedKind::IstioVirtualService,
        Kind::OpenshiftRoute => TypedKind::Route,
        Kind::HttpProxy => TypedKind::HttpProxy,
        Kind::F5VirtualServer => TypedKind::VirtualServer,
        Kind::F5TransportServer => TypedKind::TransportServer,
        Kind::IngressRoute | Kind::OldIngressRoute => TypedKind::IngressRoute,
        Kind::IngressRouteTcp | Kind::OldIngressRouteTcp => TypedKind::IngressRouteTcp,
        Kind::IngressRouteUdp | Kind::OldIngressRouteUdp => TypedKind::IngressRouteUdp,
        Kind::GlooProxy => TypedKind::Proxy,
        _ if source == SourceKind::SkipperRouteGroup => TypedKind::RouteGroup,
        _ => return Shape::Unstructured,
    })
}

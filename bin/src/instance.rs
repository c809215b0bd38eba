//! One provider instance as the settings file describes it, before it is built.

use zonewright_core::catalog::Settings;
use zonewright_core::choice::Chooser;
use zonewright_core::filter::DomainFilter;
use zonewright_core::zone::InstanceId;

/// One provider instance of a settings file.
#[derive(Debug, Clone)]
pub struct InstanceSettings {
    /// Its name, unique in the process.
    pub id: InstanceId,
    /// The settings of the process, with those of this provider.
    pub settings: Settings,
    /// Which objects go to it.
    pub chooser: Chooser,
    /// Which names count, of those that count for the process.
    pub filter: DomainFilter,
}

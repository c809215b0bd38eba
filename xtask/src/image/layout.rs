//! An OCI image layout (image-spec 1.1): `oci-layout`, `index.json` and blobs by their digests.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::About;
use super::contents::Contents;

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";
const EMPTY: &str = "application/vnd.oci.empty.v1+json";
const BILL: &str = "application/vnd.cyclonedx+json";

/// A number, so that `runAsNonRoot` can be checked without a user database.
const USER: &str = "65532:65532";

/// What is put into the layout for one platform.
pub(super) struct Image {
    pub(super) contents: Contents,
    /// The bill of materials, as CycloneDX.
    pub(super) bill: Value,
}

/// A layout that is being written.
pub(super) struct Layout {
    folder: PathBuf,
    images: Vec<Value>,
    bills: Vec<Value>,
}

impl Layout {
    /// An empty layout; what was in the folder is taken away.
    ///
    /// # Errors
    /// When it cannot be made, or something stands there that is no layout.
    pub(super) fn create(folder: &Path) -> Result<Self> {
        if folder.exists() {
            anyhow::ensure!(
                folder.join("oci-layout").exists() || fs::read_dir(folder)?.next().is_none(),
                "{} is no image layout, so it is not written over",
                folder.display()
            );
            fs::remove_dir_all(folder)?;
        }
        fs::create_dir_all(folder.join("blobs/sha256"))
            .with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(Self { folder: folder.to_owned(), images: Vec::new(), bills: Vec::new() })
    }

    /// Adds the image of a platform, and its bill of materials, which refers to it.
    pub(super) fn add(&mut self, about: &About, architecture: &str, image: &Image) -> Result<()> {
        let layer = self.blob(LAYER, &image.contents.layer()?)?;
        let config = self.json(CONFIG, &config(about, architecture, &layer))?;
        let manifest = json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer]});
        let mut descriptor = self.json(MANIFEST, &manifest)?;
        let bill = self.json(BILL, &image.bill)?;
        let empty = self.blob(EMPTY, b"{}")?;
        let referrer = json!({
            "schemaVersion": 2, "mediaType": MANIFEST, "artifactType": BILL, "config": empty, "layers": [bill],
            "subject": descriptor,
        });
        let mut referrer = self.json(MANIFEST, &referrer)?;
        referrer["artifactType"] = BILL.into();
        self.bills.push(referrer);
        descriptor["platform"] = json!({"architecture": architecture, "os": "linux"});
        self.images.push(descriptor);
        Ok(())
    }

    /// Writes the index: what the tag names comes first.
    pub(super) fn finish(self, about: &About) -> Result<()> {
        let mut named = match self.images.as_slice() {
            [only] => only.clone(),
            several => self.json(INDEX, &json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": several}))?,
        };
        named["annotations"] = json!({"org.opencontainers.image.ref.name": about.version});
        let manifests: Vec<&Value> = std::iter::once(&named).chain(&self.bills).collect();
        let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests});
        fs::write(self.folder.join("index.json"), index.to_string())?;
        fs::write(self.folder.join("oci-layout"), json!({"imageLayoutVersion": "1.0.0"}).to_string())?;
        Ok(())
    }

    fn json(&self, media_type: &str, value: &Value) -> Result<Value> {
        self.blob(media_type, value.to_string().as_bytes())
    }

    /// Writes a blob, and says where it is.
    fn blob(&self, media_type: &str, bytes: &[u8]) -> Result<Value> {
        let digest = format!("{:x}", Sha256::digest(bytes));
        fs::write(self.folder.join("blobs/sha256").join(&digest), bytes)?;
        Ok(json!({"mediaType": media_type, "digest": format!("sha256:{digest}"), "size": bytes.len()}))
    }
}

fn config(about: &About, architecture: &str, layer: &Value) -> Value {
    json!({
        "created": about.created,
        "architecture": architecture,
        "os": "linux",
        "config": {
            "User": USER,
            "ExposedPorts": {"7979/tcp": {}},
            "Entrypoint": ["/zonewright"],
            "Labels": {
                "org.opencontainers.image.title": "zonewright",
                "org.opencontainers.image.version": about.version,
                "org.opencontainers.image.revision": about.revision,
                "org.opencontainers.image.source": "https://github.com/zonewright/zonewright",
                "org.opencontainers.image.licenses": "Apache-2.0",
            },
        },
        // The digest of the layer as it is unpacked: it is not compressed.
        "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]},
    })
}

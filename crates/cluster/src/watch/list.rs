//! Lists in pages, and the question how far the server's history reaches.

use kube::core::Request;
use kube::core::params::ListParams;
use serde::de::DeserializeOwned;

use super::wire::{ListOnly, Page};
use super::{End, WatchEvent, Watcher};
use crate::api::{Failure, unreachable};

impl<T: DeserializeOwned + Send> Watcher<'_, T> {
    /// Lists everything in pages; afterwards `version` is that of the list.
    pub(super) async fn list_pages(&mut self) -> Result<(), End> {
        let mut page = self.page(None).await?;
        self.report(WatchEvent::Begin).await?;
        let mut outstanding = 0;
        loop {
            outstanding = page.outstanding(outstanding);
            for object in page.objects {
                self.report(object.map_or_else(super::wire::Unfit::event, WatchEvent::Listed)).await?;
            }
            match page.more {
                Some(token) => page = self.next_page(token).await?,
                None => break,
            }
        }
        if outstanding > 0 {
            // Something between here and the server cut it short, or its pages do not fit together: once more, in one piece.
            self.paged = false;
            return Err(End::lost(format!("the list ended {outstanding} objects before its end")));
        }
        self.paged = true;
        self.version = Some(page.version);
        self.report(WatchEvent::Done).await
    }

    async fn next_page(&mut self, token: String) -> Result<Page<T>, End> {
        let page = self.page(Some(token)).await;
        if matches!(page, Err(End::Expired(_))) {
            // The list is longer than the server's memory of it: once more, in one piece.
            self.paged = false;
        }
        page
    }

    async fn page(&self, token: Option<String>) -> Result<Page<T>, End> {
        let limit = self.paged.then_some(self.spec.page_size.max(1));
        let bytes = match self.list_request(limit, token).await {
            Ok(bytes) => bytes,
            Err(failure) => return Err(self.end_of("list", failure).await),
        };
        Page::parse(&bytes).map_err(End::lost)
    }

    /// Whether the server's history reaches as far as ours. A version below ours means that etcd was restored or wiped: a
    /// watch from our version would then wait for changes of a future that never comes.
    pub(super) async fn is_same_history(&self, version: &str) -> Result<bool, End> {
        // Versions are numbers wherever etcd is behind them; elsewhere they cannot be compared.
        let Ok(ours) = version.parse::<u64>() else { return Ok(true) };
        let bytes = match self.list_request(Some(1), None).await {
            Ok(bytes) => bytes,
            // Whoever may only watch is given everything anew.
            Err(failure) if failure.code() == Some(403) => return Ok(false),
            Err(failure) => return Err(self.end_of("list", failure).await),
        };
        let list: ListOnly = serde_json::from_slice(&bytes).map_err(End::lost)?;
        Ok(list.metadata.resource_version.parse::<u64>().map_or(true, |theirs| theirs >= ours))
    }

    async fn list_request(&self, limit: Option<u32>, token: Option<String>) -> Result<Vec<u8>, Failure> {
        let params = ListParams {
            label_selector: self.spec.label_selector.clone(),
            field_selector: self.spec.field_selector.clone(),
            limit,
            continue_token: token,
            ..ListParams::default()
        };
        let request = Request::new(self.spec.path()).list(&params).map_err(|e| unreachable(&e))?;
        let body = self.cluster.exchange(request).await?.into_body();
        Ok(body.collect_bytes().await.map_err(|e| unreachable(&e))?.into())
    }
}

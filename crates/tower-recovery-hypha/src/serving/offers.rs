//! The services that a client offers, and which of them the registry has confirmed.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use super::{LocalService, services::lock};

#[derive(Debug, Default)]
pub(crate) struct Offers(Mutex<BTreeMap<Arc<str>, Offer>>);

#[derive(Clone, Debug)]
struct Offer {
    service: Arc<LocalService>,
    /// The registry has said that it has it, so it is missed where it is not there.
    is_registered: bool,
}

/// A service that is being registered. If that does not come to its end, it is not offered, and what had the name before is again.
#[derive(Debug)]
#[must_use = "dropping it takes the offer back"]
pub(crate) struct PendingOffer<'a> {
    offers: &'a Offers,
    service: Arc<LocalService>,
    before: Option<Offer>,
    is_confirmed: bool,
}

impl Offers {
    /// Calls of it are answered from now on: who finds it in the registry must not be turned away.
    pub(crate) fn begin(&self, service: LocalService) -> PendingOffer<'_> {
        let service = Arc::new(service);
        let offer = Offer { service: Arc::clone(&service), is_registered: false };
        let before = lock(&self.0).insert(service.name().into(), offer);
        PendingOffer { offers: self, service, before, is_confirmed: false }
    }

    pub(crate) fn withdraw(&self, name: &str) {
        lock(&self.0).remove(name);
    }

    /// The registry has it.
    pub(crate) fn confirm(&self, service: &Arc<LocalService>) {
        if let Some(offer) = lock(&self.0).get_mut(service.name()).filter(|offer| Arc::ptr_eq(&offer.service, service))
        {
            offer.is_registered = true;
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<Arc<LocalService>> {
        lock(&self.0).get(name).map(|offer| Arc::clone(&offer.service))
    }

    pub(crate) fn all(&self) -> Vec<Arc<LocalService>> {
        lock(&self.0).values().map(|offer| Arc::clone(&offer.service)).collect()
    }

    /// What the registry has to have.
    pub(crate) fn registered(&self) -> Vec<Arc<LocalService>> {
        let offers = lock(&self.0);
        offers.values().filter(|offer| offer.is_registered).map(|offer| Arc::clone(&offer.service)).collect()
    }
}

impl PendingOffer<'_> {
    pub(crate) fn service(&self) -> &Arc<LocalService> {
        &self.service
    }

    /// The registry has it.
    pub(crate) fn confirm(mut self) {
        self.is_confirmed = true;
        self.offers.confirm(&self.service);
    }
}

impl Drop for PendingOffer<'_> {
    fn drop(&mut self) {
        if self.is_confirmed {
            return;
        }
        let mut offers = lock(&self.offers.0);
        let is_ours = |offer: &Offer| Arc::ptr_eq(&offer.service, &self.service);
        // Somebody else may have the name by now.
        if offers.get(self.service.name()).is_some_and(is_ours) {
            match self.before.take() {
                Some(before) => offers.insert(self.service.name().into(), before),
                None => offers.remove(self.service.name()),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(description: &str) -> LocalService {
        LocalService::new("worker").unwrap().description(description)
    }

    fn names(services: Vec<Arc<LocalService>>) -> usize {
        services.len()
    }

    #[test]
    fn what_is_pending_is_answered_and_not_missed() {
        let offers = Offers::default();
        let pending = offers.begin(service("first"));
        assert!(offers.get("worker").is_some());
        assert_eq!((names(offers.all()), names(offers.registered())), (1, 0));
        pending.confirm();
        assert_eq!(names(offers.registered()), 1);
        offers.withdraw("worker");
        assert_eq!((names(offers.all()), names(offers.registered())), (0, 0));
    }

    #[test]
    fn an_offer_that_is_dropped_gives_the_name_back_to_what_had_it() {
        let offers = Offers::default();
        drop(offers.begin(service("dropped")));
        assert_eq!(names(offers.all()), 0);
        let first = offers.begin(service("first"));
        let kept = Arc::clone(first.service());
        first.confirm();
        drop(offers.begin(service("dropped")));
        assert!(Arc::ptr_eq(&offers.get("worker").unwrap(), &kept));
        assert_eq!(names(offers.registered()), 1);
    }

    #[test]
    fn of_two_offers_of_one_name_the_later_stays_though_the_earlier_fails() {
        let offers = Offers::default();
        let earlier = offers.begin(service("earlier"));
        let later = offers.begin(service("later"));
        let kept = Arc::clone(later.service());
        later.confirm();
        drop(earlier);
        assert!(Arc::ptr_eq(&offers.get("worker").unwrap(), &kept));
    }
}

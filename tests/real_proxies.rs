//! Real proxies, nginx and haproxy, before backends that die.
//!
//! What such a proxy says when its backend has executed a request and closed looks like a proof that it did not: haproxy refuses the
//! HTTP/2 stream (`answers`). A client that believes it executes a write twice; one that is told of the proxy does not, also while a backend
//! is killed and started again under load (`kills`).
//!
//! Where a proxy is not installed, its tests say so and pass; under CI they fail.

mod servers;

mod real_proxies {
    mod answers;
    mod backend;
    mod client;
    mod front_door;
    mod kills;
    mod load;
    mod proxy;
    mod proxy_config;
}

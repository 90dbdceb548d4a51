//! What a client is told.

use std::time::Duration;

use crate::{
    calls::Patience,
    connection::{Endpoint, Pace, Reconnect, Tls},
    wire::Limits,
};

#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) endpoint: Endpoint,
    pub(crate) tls: Tls,
    pub(crate) workspace: Option<Box<str>>,
    pub(crate) client_id: Box<str>,
    pub(crate) app_id: Box<str>,
    pub(crate) connect_timeout: Duration,
    pub(crate) patience: Patience,
    pub(crate) ping_interval: Duration,
    pub(crate) ping_timeout: Duration,
    pub(crate) token_refresh_interval: Duration,
    pub(crate) reconnect: Reconnect,
    pub(crate) pace: Pace,
    pub(crate) limits: Limits,
}

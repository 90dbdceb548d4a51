//! Hypha for [`tower_recovery`]: an RPC client over Hypha's websocket as tower services.

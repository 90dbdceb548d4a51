//! Downloads from a real nginx, over connections that are cut, and resumed where they broke.
//!
//! What is handed out is the file, each byte once and in order, however often and wherever it is cut (`cuts`, `ranges`). Where the rest cannot be had of the same file, it is a beginning of that file and
//! then an error, and never two files in one (`changes`, `refusals`).
//!
//! Where nginx is not installed, these tests say so and pass; under CI they fail.

mod servers;

mod downloads {
    mod changes;
    mod client;
    mod cuts;
    mod files;
    mod ranges;
    mod refusals;
}

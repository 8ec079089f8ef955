//! One program for all tests, so that the library is linked once and tests that wait overlap.

mod support;

mod arrivals;
mod doctor;
mod documents;
mod faults;
mod log;
mod operate;
mod output;
mod plan;
mod record;
mod watch;

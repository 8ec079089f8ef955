//! One program for all tests, so that the library is linked once and tests that wait overlap.

mod support;

mod differential;
mod metrics;
mod metrics_late;
mod operate;
mod safety;
mod samples;
mod sorted;
mod verbs;
mod waiting;

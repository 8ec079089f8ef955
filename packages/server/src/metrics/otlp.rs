//! The metrics as messages of OTLP, with the names and values of the text.

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint, ResourceMetrics,
    ScopeMetrics, Sum,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use paddlegate::Micros;
use paddlegate_ojs::KeyMetrics;

use super::families::{Family, Kind, Times, Value, Values, families};
use super::{Measured, Own, Snapshot};
use crate::json::seconds;

/// How many limiters a message has at most: receivers bound the length of one, often to a few MiB.
const LIMITERS: usize = 1_000;

/// What all messages of a server have in common.
pub(crate) struct Sender {
    /// Tells servers apart that send to one receiver.
    pub(crate) instance: String,
    /// When the server started, in nanoseconds since 1970.
    pub(crate) started: u64,
}

impl Sender {
    /// Returns the messages of a snapshot, of which the first has what the server itself has counted.
    pub(crate) fn messages(
        &self,
        snapshot: &Snapshot,
        own: &Own,
        now: u64,
    ) -> impl Iterator<Item = ExportMetricsServiceRequest> {
        let limiters = snapshot.limiters().chunks(LIMITERS);
        let rest = limiters.map(move |limiters| self.message(limiters, &[], None, now));
        let keys = snapshot.keys().chunks(LIMITERS).map(move |keys| self.message(&[], keys, None, now));
        std::iter::once(self.message(&[], &[], Some(own), now)).chain(rest).chain(keys)
    }

    fn message(
        &self,
        limiters: &[Measured],
        keys: &[KeyMetrics],
        own: Option<&Own>,
        now: u64,
    ) -> ExportMetricsServiceRequest {
        let times = (self.started, now);
        let scope = InstrumentationScope {
            name: "paddlegate".to_owned(),
            version: paddlegate::VERSION.to_owned(),
            ..InstrumentationScope::default()
        };
        let metrics = families().filter_map(|family| metric(family, (limiters, keys), own, times)).collect();
        let resource = Resource {
            attributes: vec![
                attribute("service.name", "paddlegate"),
                attribute("service.version", paddlegate::VERSION),
                attribute("service.instance.id", &self.instance),
            ],
            ..Resource::default()
        };
        ExportMetricsServiceRequest {
            resource_metrics: vec![ResourceMetrics {
                resource: Some(resource),
                scope_metrics: vec![ScopeMetrics { scope: Some(scope), metrics, ..ScopeMetrics::default() }],
                ..ResourceMetrics::default()
            }],
        }
    }
}

/// Returns a metric; `None` without a value.
fn metric(
    family: &Family,
    (limiters, keys): (&[Measured], &[KeyMetrics]),
    own: Option<&Own>,
    times: (u64, u64),
) -> Option<Metric> {
    let (mut numbers, mut histograms) = (Vec::new(), Vec::new());
    let mut add = |attributes: Vec<KeyValue>, value: Value<'_>| match value {
        Value::Whole(number) => {
            numbers.push(point(attributes, Number::AsInt(i64::try_from(number).unwrap_or(i64::MAX)), times));
        }
        Value::Times(value) => histograms.push(histogram(attributes, value, times)),
    };
    match family.values {
        Values::Server(value) => own.into_iter().for_each(|own| add(Vec::new(), value(own))),
        Values::Limiter(values) => {
            for one in limiters {
                values(one, &mut |labels, value| {
                    let all = one.labels().chain(labels.iter().copied());
                    add(all.map(|(name, value)| attribute(name, value)).collect(), value);
                });
            }
        }
        Values::Key(values) => {
            for one in keys {
                values(one, &mut |labels, value| {
                    let all = [("key", &*one.key)].into_iter().chain(labels.iter().copied());
                    add(all.map(|(name, value)| attribute(name, value)).collect(), value);
                });
            }
        }
    }
    let aggregation_temporality = AggregationTemporality::Cumulative.into();
    let is_empty = numbers.is_empty() && histograms.is_empty();
    let data = match family.kind {
        Kind::Counter => {
            Data::Sum(Sum { data_points: numbers, aggregation_temporality, is_monotonic: !family.may_fall() })
        }
        Kind::Gauge => Data::Gauge(Gauge { data_points: numbers }),
        Kind::Histogram => Data::Histogram(Histogram { data_points: histograms, aggregation_temporality }),
    };
    (!is_empty).then(|| Metric {
        name: family.otlp_name(),
        description: family.help.to_owned(),
        unit: if family.name.contains("seconds") { "s" } else { "1" }.to_owned(),
        metadata: Vec::new(),
        data: Some(data),
    })
}

fn point(attributes: Vec<KeyValue>, value: Number, (started, now): (u64, u64)) -> NumberDataPoint {
    NumberDataPoint {
        attributes,
        start_time_unix_nano: started,
        time_unix_nano: now,
        value: Some(value),
        ..NumberDataPoint::default()
    }
}

fn histogram(attributes: Vec<KeyValue>, times: Times<'_>, (started, now): (u64, u64)) -> HistogramDataPoint {
    let bounds = if times.counts.is_empty() { &[] } else { times.bounds };
    HistogramDataPoint {
        attributes,
        start_time_unix_nano: started,
        time_unix_nano: now,
        count: times.counts.iter().sum(),
        sum: Some(seconds(times.sum)),
        bucket_counts: times.counts.to_vec(),
        explicit_bounds: bounds.iter().map(|bound| seconds(Micros(*bound))).collect(),
        ..HistogramDataPoint::default()
    }
}

fn attribute(key: &str, value: &str) -> KeyValue {
    let value = AnyValue { value: Some(any_value::Value::StringValue(value.to_owned())) };
    KeyValue { key: key.to_owned(), value: Some(value), ..KeyValue::default() }
}

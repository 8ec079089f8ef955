//! Estimates the cost of a GraphQL query before it is sent.

mod github;
#[cfg(test)]
mod properties;
mod query;
mod shopify;
mod source;
#[cfg(test)]
mod table;
#[cfg(test)]
mod tests;
mod variables;

use query::Query;
use source::Source;
use variables::Variables;

use crate::base::error::{Error, Result};
use crate::model::limit::MAX_UNITS;

/// The maximum length of a query, in bytes.
pub const MAX_QUERY: usize = 256 * 1024;

/// The maximum nesting depth of brackets of any kind in a query.
pub const MAX_QUERY_DEPTH: usize = 128;

/// The provider whose published cost rules apply.
///
/// No rule needs the schema: a field with a selection set counts as an object, one without as a scalar, and one with a
/// selection set and a `first` or `last` argument as a connection of that many elements, the larger of the two if both
/// are given. The notes on each provider list where the estimate is above or below the real cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CostRules {
    /// Points of the Admin API: a scalar is 0, an object 1, a connection of `n` elements 2 and `floor(2 ln n)` times its node,
    /// and each root field of a mutation 10.
    ///
    /// `edges`, `pageInfo`, the root and amounts of money (`...Set`, `shopMoney`, `presentmentMoney`) are free; of
    /// alternatives (`... on Product`, `... on Order`) the most expensive counts. At least 1. Source: shopify.dev, "GraphQL
    /// Admin API rate limits" for scalars, objects, alternatives and mutations. Shopify does not publish how the size of a
    /// connection counts: `floor(2 ln n)`, and at least 1 for a page that is not empty, is fitted to costs that its API
    /// reported, of which two to three in four it meets exactly.
    ///
    /// Above the real cost: the payload of a mutation, which is often included in its 10; an object beside the nodes of a
    /// connection, which is counted with every node; fields that are selected twice and merged by the server. Below the real
    /// cost: fields with a higher cost set by Shopify; lists of objects without `first` or `last`, which count as one object;
    /// alternatives that apply together because one is an interface of the other (`Node`, `Has...` and other common
    /// interfaces are known, and added instead). A query above Shopify's maximum for one query (1,000 points) is not an error
    /// here.
    Shopify,
    /// Points of the GraphQL API: the requests that fill every connection, divided by 100 and rounded, at least 1.
    ///
    /// A connection takes one request for each element of the connections around it. Source: docs.github.com, "Rate
    /// limits and query limits for the GraphQL API", which calls this an approximate calculation.
    ///
    /// Above the real cost: alternatives of a union, which are added; fields that are selected twice and merged by the
    /// server; halves, which are rounded up. Below the real cost: lists without `first` or `last` that contain
    /// connections (`nodes(ids: ...)` is counted for each id); points that GitHub deducts later for a time-out. The
    /// points of the secondary limits (5 for a mutation) are a different unit.
    GitHub,
}

impl CostRules {
    /// All sets of rules.
    pub const ALL: [Self; 2] = [Self::Shopify, Self::GitHub];

    /// Returns the name of the rules: `shopify` or `github`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shopify => "shopify",
            Self::GitHub => "github",
        }
    }

    /// Returns the rules with this name; the argument of the error is `rules`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::CostRules;
    /// assert_eq!(CostRules::from_name("shopify")?, CostRules::Shopify);
    /// assert_eq!(CostRules::from_name("linear").unwrap_err().argument(), Some("rules"));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn from_name(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|rules| rules.name() == name).ok_or_else(|| {
            let shown: String = name.chars().take(40).collect();
            Error::invalid("rules", format!("must be shopify or github: rules={shown:?}"))
        })
    }
}

/// Estimates the cost of a query in points of its provider, from 1 to [`MAX_UNITS`]; see [`CostRules`] for the
/// calculation and its deviations from the real cost.
///
/// `variables` is the JSON object that is sent with the query, or empty. `operation` is the `operationName`, needed
/// only when the query contains several; none and empty are the same. Fields that `@skip` and `@include` certainly
/// exclude cost nothing; fields that they may exclude are counted. Each alias counts.
///
/// Errors, by argument: `query` when it does not parse, exceeds [`MAX_QUERY`] or [`MAX_QUERY_DEPTH`], contains no
/// operation or several, spreads a fragment that it does not contain or a fragment within itself, or has a connection
/// size that is not a non-negative integer; `operation` when the query contains none with that name; `variables` when
/// they are not a JSON object, or when the size of a connection is a variable without value and default.
///
/// # Examples
///
/// ```
/// use paddlegate::{CostRules, graphql_cost};
///
/// let query = "query ($n: Int = 10) { products(first: $n) { edges { node { id title } } } }";
/// assert_eq!(graphql_cost(query, "", None, CostRules::Shopify)?, 6);
/// assert_eq!(graphql_cost(query, r#"{"n": 50}"#, None, CostRules::Shopify)?, 9);
/// # Ok::<(), paddlegate::Error>(())
/// ```
pub fn graphql_cost(query: &str, variables: &str, operation: Option<&str>, rules: CostRules) -> Result<u64> {
    let source = Source::parse(query)?;
    let definition = source.operation(operation.filter(|name| !name.is_empty()))?;
    let variables = Variables::parse(variables, definition)?;
    let query = Query::read(&source, definition, &variables)?;
    let points = match rules {
        CostRules::Shopify => shopify::points(&query),
        CostRules::GitHub => github::points(&query),
    };
    Ok(points.clamp(1, MAX_UNITS))
}

//! Queries of the Admin API with what Shopify's published values and the fitted rule for connections give.

use super::*;

/// A page of 1, 2, 3, 5, 10, 20, 25, 50, 100 and 250 nodes counts its node 1, 1, 2, 3, 4, 5, 6, 7, 9 and 11 times.
const QUERIES: [(u64, &str); 66] = [
    // Objects and scalars.
    (1, "{ __typename }"),
    (1, "{ shop { name } }"),
    (2, "{ shop { primaryDomain { url host } } }"),
    (3, "{ shop { primaryDomain { url } billingAddress { city } } }"),
    (2, "{ shop { name } product(id: \"gid://shopify/Product/1\") { title } }"),
    (2, "{ a: product(id: 1) { id } b: product(id: 2) { id } }"),
    (1, "{ productsCount { count precision } }"),
    (3, "{ order(id: 1) { customer { defaultAddress { zip } } } }"),
    (3, "{ nodes(ids: [1, 2, 3]) { id } }"),
    (6, "{ nodes(ids: [1, 2, 3]) { id ... on Product { category { name } } } }"),
    // Pages.
    (2, "{ products(first: 0) { nodes { id } } }"),
    (3, "{ products(first: 1) { edges { node { title } } } }"),
    (3, "{ products(first: 2) { nodes { id } } }"),
    (4, "{ products(first: 3) { nodes { id } } }"),
    (4, "{ products(first: 4) { nodes { id } } }"),
    (5, "{ products(first: 5) { nodes { id } } }"),
    (5, "{ products(first: 7) { nodes { id } } }"),
    (6, "{ products(first: 8) { nodes { id } } }"),
    (6, "{ products(first: 10) { nodes { id } } }"),
    (6, "{ products(first: 12) { nodes { id } } }"),
    (7, "{ products(first: 13) { nodes { id } } }"),
    (7, "{ products(first: 20) { nodes { id } } }"),
    (8, "{ products(first: 21) { nodes { id } } }"),
    (8, "{ products(first: 25) { pageInfo { hasNextPage endCursor } edges { cursor node { id title } } } }"),
    (9, "{ products(last: 50) { nodes { id } } }"),
    (11, "{ orders(first: 100) { nodes { id } } }"),
    (12, "{ orders(first: 200) { edges { node { id name } } } }"),
    (13, "{ orders(first: 250) { nodes { id } pageInfo { endCursor } } }"),
    (13, "{ orders(first: 50, last: 250) { nodes { id } } }"),
    (10, "{ customers(first: 10) { nodes { id defaultEmailAddress { emailAddress } } } }"),
    (16, "{ orders(first: 50) { nodes { id customer { id } } } }"),
    (23, "{ orders(first: 50) { nodes { id customer { id defaultAddress { city } } } } }"),
    (24, "{ productVariants(first: 250) { nodes { inventoryItem { id tracked } } } }"),
    // Pages in objects and in pages.
    (25, "{ product(id: 1) { variants(first: 250) { nodes { inventoryItem { id tracked } } } } }"),
    (5, "{ product(id: 1) { media(first: 3) { nodes { alt } } } }"),
    (12, "{ collection(id: 1) { products(first: 100) { nodes { id handle } } } }"),
    (58, "{ orders(first: 50) { nodes { id lineItems(first: 20) { nodes { id sku } } } } }"),
    (26, "{ products(first: 10) { nodes { id variants(first: 5) { nodes { price } } } } }"),
    (14, "{ products(first: 10) { nodes { id variants(first: 0) { nodes { price } } } } }"),
    (18, "{ products(first: 10) { nodes { id variants(first: 1) { nodes { price } } } } }"),
    (46, "{ products(first: 10) { nodes { variants(first: 10) { nodes { image { url } } } } } }"),
    (86, "{ products(first: 50) { nodes { id variants(first: 100) { nodes { sku } } } } }"),
    (
        77,
        "{ products(first: 20) { nodes { images(first: 20) { nodes { url } } variants(first: 20) { nodes { sku } } } } }",
    ),
    (13, "{ products(first: 10) { nodes { id } } orders(first: 10) { nodes { id } } shop { name } }"),
    (12, "{ a: products(first: 10) { nodes { id } } b: products(first: 10) { nodes { id } } }"),
    (
        46,
        "{ orders(first: 10) { edges { node { fulfillmentOrders(first: 10) { edges { node { assignedLocation { name }
        } } } } } } }",
    ),
    (
        159,
        "{ a(first: 10) { nodes { b(first: 10) { nodes { c(first: 10) { nodes { id } } d { id } } } } }
        e(first: 50) { nodes { f { id } } } shop { name } }",
    ),
    // Money is free.
    (1, "{ order(id: 1) { totalPriceSet { shopMoney { amount currencyCode } presentmentMoney { amount } } } }"),
    (9, "{ orders(first: 50) { nodes { currentTotalPriceSet { shopMoney { amount } } } } }"),
    (
        9,
        "{ orders(first: 50) { nodes { totalTaxSet { shopMoney { amount } } totalPriceSet { shopMoney { amount } } } } }",
    ),
    (
        37,
        "{ orders(first: 20) { nodes { lineItems(first: 10) { nodes { originalUnitPriceSet { shopMoney { amount } } }
        } } } }",
    ),
    (2, "{ order(id: 1) { customer { amountSpent: totalSpentSet { shopMoney { amount } } } } }"),
    // Alternatives.
    (2, "{ node(id: 1) { id ... on Product { category { id } } ... on Order { id } } }"),
    (4, "{ node(id: 1) { ... on Product { a { id } } ... on Order { a { id } b { id } c { id } } } }"),
    (3, "{ product(id: 1) { ... on Product { a { id } } ... on HasMetafields { metafield(key: \"k\") { value } } } }"),
    (27, "{ products(first: 20) { nodes { media(first: 1) { nodes { ... on MediaImage { image { url } } } } } } }"),
    (1, "{ shop { name } product(id: 1) @skip(if: true) { a { b { id } } } }"),
    (2, "{ shop { name } product(id: 1) @include(if: true) { title } }"),
    // Fragments.
    (9, "{ orders(first: 50) { nodes { ...O } } } fragment O on Order { id totalPriceSet { shopMoney { amount } } }"),
    (6, "{ products(first: 10) { ...P } } fragment P on ProductConnection { nodes { id } pageInfo { endCursor } }"),
    (4, "{ a: shop { ...S } b: shop { ...S } } fragment S on Shop { primaryDomain { host } }"),
    // Mutations.
    (10, "mutation { productDelete(input: {id: \"1\"}) { deletedProductId } }"),
    (11, "mutation { productDelete(input: {id: \"1\"}) { deletedProductId userErrors { message } } }"),
    (12, "mutation { tagsAdd(id: 1, tags: [\"a\"]) { node { id } userErrors { message } } }"),
    (20, "mutation { a: tagsAdd(id: 1, tags: []) { __typename } b: tagsAdd(id: 2, tags: []) { __typename } }"),
    (16, "mutation { productSet(input: {}) { product { variants(first: 5) { nodes { id } } } } }"),
];

#[test]
fn queries_cost_what_the_rule_gives() {
    for (cost, query) in QUERIES {
        assert_eq!(graphql_cost(query, "", None, CostRules::Shopify), Ok(cost), "{query}");
    }
}

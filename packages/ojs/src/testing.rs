//! What tests of several modules share.

use std::env;

use redis::Client;
use redis::aio::ConnectionManager;

/// Returns the URL of a database of the tests' own Redis.
pub(crate) fn url(database: u8) -> String {
    let url = env::var("PADDLEGATE_TEST_URL")
        .unwrap_or_else(|_| panic!("PADDLEGATE_TEST_URL is not set; run the tests under scripts/with-redis.sh"));
    format!("{url}/{database}")
}

/// Connects to a database.
pub(crate) async fn connection(database: u8) -> ConnectionManager {
    ConnectionManager::new(Client::open(url(database)).unwrap()).await.unwrap()
}

/// Connects to a database that is empty, which is one test's alone.
pub(crate) async fn empty_redis(database: u8) -> ConnectionManager {
    let mut connection = connection(database).await;
    let () = redis::cmd("FLUSHDB").query_async(&mut connection).await.unwrap();
    connection
}

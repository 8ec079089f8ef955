use std::time::Duration;

use paddlegate::{Paddlegate, Request};

fn main() -> paddlegate::Result<()> {
    let pg = Paddlegate::open("redis://127.0.0.1:12845", None)?;
    let shop = pg.points("shopify-42", 1_000, Duration::from_secs(20))?;
    let decision = shop.acquire(Request::estimate(200))?;
    match decision.permit {
        Some(permit) => println!("{:?}", shop.correct(&permit, 50)?),
        None => println!("come back after {:?}", decision.retry_after),
    }
    let erp = pg.concurrent("erp", 50, Duration::from_secs(30))?;
    let decision = erp.acquire_within(Request::default(), Duration::from_secs(5))?;
    if let Some(permit) = decision.permit {
        println!("{:?}", erp.release(&permit)?);
    }
    Ok(())
}

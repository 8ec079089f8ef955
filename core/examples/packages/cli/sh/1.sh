cargo build --release -p paddlegate-cli    # target/release/paddlegate

paddlegate simulate policy.json --arrivals "poisson 10/s for 1m" --retry wait
paddlegate simulate policy.json --arrivals "times calls.csv" --cost 1..10 --actual 1..5 --json
paddlegate simulate --scenario scenario.json --csv decisions.csv

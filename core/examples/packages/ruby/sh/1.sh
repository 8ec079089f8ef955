gem install paddlegate

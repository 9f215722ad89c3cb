from samples import engine, given, sample


def test_nim_is_declined_with_what_its_settings_say():
    found = engine(sample("31-nim-service.yaml"))
    assert (found.supported, found.because.message, found.engine) == (False, "workload.nim-unsupported", "nim")
    assert given(found) == {"max_model_len": 8192}
    assert found.edit_paths["max_model_len"].pointer == "/spec/env/0/value"

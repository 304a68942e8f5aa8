"""What is set around a forward pass, and set back."""

import pytest
import torch

from tiltmeter.models.forward_pass import passing


@pytest.mark.parametrize("before", [True, False])
def test_cudnn_makes_no_plans_inside_and_is_as_it_was_afterwards(before: bool) -> None:
    own = torch.backends.cuda.cudnn_sdp_enabled()
    torch.backends.cuda.enable_cudnn_sdp(before)
    try:
        with pytest.raises(ValueError, match="broken"), passing("fp32", torch.nn.Linear(1, 1)):
            assert not torch.backends.cuda.cudnn_sdp_enabled()
            raise ValueError("broken")
        assert torch.backends.cuda.cudnn_sdp_enabled() is before
    finally:
        torch.backends.cuda.enable_cudnn_sdp(own)


@pytest.mark.parametrize(("precision", "inside"), [("tf32", "high"), ("fp32", "highest"), ("bf16", "highest")])
def test_the_precision_of_matrix_products_comes_back(precision: str, inside: str) -> None:
    before = torch.get_float32_matmul_precision()
    with passing(precision, torch.nn.Linear(1, 1)):
        assert torch.get_float32_matmul_precision() == inside
        assert torch.is_inference_mode_enabled()
    assert torch.get_float32_matmul_precision() == before

"""PyTorch's epochs on a GPU, for the two largest networks of 'largemvc device -trial': the literal network of paper_model.py in
float32 with Adam, without and with TF32. Needs torch. Every view is a mixture of m normal distributions.

usage: python3 torch_gpu.py
"""
import time

import torch

torch.set_default_device('cuda')
import paper_model as pm  # after the default device, where its constants are made

ROUNDS = 5


def epochs(n, dims, m, tf32):
    """The median seconds of ROUNDS epochs after two, and the peak of the card's memory in bytes."""
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.cuda.reset_peak_memory_stats()
    torch.manual_seed(0)
    xs = [torch.randn(n, d) + (2 * torch.randn(m, d))[torch.arange(n) % m] for d in dims]
    anchors = [torch.linalg.qr(torch.randn(d, m))[0].t().contiguous() for d in dims]
    start = pm.init_params(2, len(dims), m, dtype=torch.float32)
    params = [start[k].detach().requires_grad_() for k in ('theta', 'rho', 'R', 'U')]
    adam = torch.optim.Adam(params, 1e-2)
    errors, h = [torch.zeros_like(x) for x in xs], torch.zeros(n, m)
    times = []
    for _ in range(2 + ROUNDS):
        torch.cuda.synchronize()
        began = time.perf_counter()
        adam.zero_grad()
        out, _, last = pm.forward(xs, h, errors, anchors, *params)
        loss = pm.loss_fn(xs, out, last)
        loss.backward()
        adam.step()
        loss.item()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return sorted(times[2:])[ROUNDS // 2], torch.cuda.max_memory_allocated()


if __name__ == '__main__':
    print('torch', torch.__version__, torch.cuda.get_device_name())
    for n, dims, m in ((60_000, (784, 392, 160), 10), (195_537, (944, 576, 512, 640), 100)):
        for tf32 in (False, True):
            seconds, memory = epochs(n, dims, m, tf32)
            torch.cuda.empty_cache()
            print(f'{n} x {sum(dims)}, m = {m}, {"TF32" if tf32 else "float32"}: '
                  f'{1e3 * seconds:.1f} ms an epoch, {memory / 2**30:.1f} GiB', flush=True)

# Writes golden.json: layer 1 of the module and its gradients by PyTorch's autograd, from the dense matrix, in float64.
import json, torch
torch.set_default_dtype(torch.float64)
torch.manual_seed(1)
n, m, views = 7, 3, 2
w = torch.rand(n, n) * (torch.rand(n, n) < 0.6)
w = torch.triu(w, 1) + torch.triu(w, 1).T
d = w.sum(1)
s = torch.where(d > 0, d, torch.ones(n)) ** -0.5
a = s[:, None] * w * s[None, :]
a = (a + a.T) / 2
h = torch.randn(n, m, requires_grad=True)
z = [torch.randn(n, m, requires_grad=True) for _ in range(views)]
r = (0.5 * torch.eye(m)).requires_grad_()
u = (0.5 * torch.eye(m)).requires_grad_()
theta = torch.tensor(0.1, requires_grad=True)
gamma = torch.tensor(1.7, requires_grad=True)
weight = torch.randn(n, m)
inverse = torch.linalg.inv(torch.eye(n) + gamma * (torch.eye(n) - a))
relu = torch.relu
out = 0
for x in z:
    y = inverse @ (h @ r + x @ u)
    out = out + (relu(y - theta) - relu(-y - theta)) / views
(out * weight).sum().backward()
flat = lambda t: t.detach().flatten().tolist()
json.dump({"N": n, "M": m, "A": flat(a), "H": flat(h), "Z": [flat(x) for x in z], "Weight": flat(weight), "Out": flat(out),
           "Gradients": {"theta": flat(theta.grad), "R": flat(r.grad), "U": flat(u.grad), "gamma": flat(gamma.grad),
                         "H": flat(h.grad), "Z0": flat(z[0].grad), "Z1": flat(z[1].grad)}}, open("golden.json", "w"))

#!/usr/bin/env python3
"""Trains a small character-level transformer language model on the sources of Python's standard
library, which every machine has. PyTorch 1.13 to 2.x, CPU (gloo) or CUDA (nccl).

    python train.py                                   one process
    muster run --nodes 2 --nproc-per-node 2 train.py  four ranks under Muster
    muster launch --nproc-per-node 4 train.py         the same without a server
    torchrun --nproc-per-node 4 train.py              works too

The process group comes from the usual environment (RANK, WORLD_SIZE, MASTER_ADDR ...). What step takes
which samples depends on the step alone, so a run that resumes from a checkpoint, on any number of
ranks, neither repeats nor loses one. Muster is told the step, the loss and the samples; without Muster
those calls do nothing."""

import argparse
import contextlib
import hashlib
import io
import math
import os
import re
import sys
import sysconfig
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F

try:
    import muster
except ImportError:
    muster = None

VOCABULARY = 128  # ASCII; every other character becomes '?'
CHECKPOINTS_KEPT = 2
SKIPPED_FOLDERS = {"dist-packages", "site-packages", "test", "tests", "idlelib", "__pycache__"}


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--steps", type=int, default=300)
    p.add_argument("--batch", type=int, default=16, help="sequences a step, over all ranks")
    p.add_argument("--context", type=int, default=64, help="characters a sequence")
    p.add_argument("--width", type=int, default=64)
    p.add_argument("--layers", type=int, default=2)
    p.add_argument("--heads", type=int, default=4)
    p.add_argument("--rate", type=float, default=3e-3, help="the highest learning rate")
    p.add_argument("--megabytes", type=float, default=4, help="of text to train on")
    p.add_argument("--checkpoint-every", type=int, default=25, help="steps; 0: never")
    p.add_argument("--checkpoint-dir", help="default: the one that Muster gives, else none")
    p.add_argument("--log-every", type=int, default=10, help="steps")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--sample", type=int, default=200, help="characters to write at the end")
    return p.parse_args()


# ---- text


def load_text(limit):
    """The standard library's sources in a fixed order, at most `limit` bytes, as a tensor of codes."""
    root = sysconfig.get_paths()["stdlib"]
    parts, size = [], 0
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(set(folders) - SKIPPED_FOLDERS)
        for name in sorted(files):
            if size < limit and name.endswith(".py"):
                with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                    parts.append(file.read().encode("ascii", "replace"))
                size += len(parts[-1])
    if not parts:
        sys.exit(f"no Python sources below {root}; is Python's standard library installed?")
    text = b"".join(parts)[:limit]
    return torch.frombuffer(bytearray(text), dtype=torch.uint8).long()


class Samples:
    """Sample i is a window of the text: a fixed shuffle, the same for every number of ranks."""

    def __init__(self, text, context):
        self.text, self.context = text, context
        self.count = (len(text) - 1) // context
        if self.count < 1:
            sys.exit("the text is shorter than one sequence; raise --megabytes")
        self.stride = next(s for s in range(int(self.count * 0.618) | 1, self.count * 2 + 3, 2)
                           if math.gcd(s, self.count) == 1)

    def batch(self, indices):
        starts = [(i * self.stride % self.count) * self.context for i in indices]
        rows = torch.stack([self.text[s:s + self.context + 1] for s in starts])
        return rows[:, :-1], rows[:, 1:]


# ---- model


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before_attention = nn.LayerNorm(width)
        self.queries_keys_values = nn.Linear(width, 3 * width)
        self.joined = nn.Linear(width, width)
        self.before_mlp = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x, mask):
        batch, length, width = x.shape
        shape = (batch, length, 3, self.heads, width // self.heads)
        q, k, v = self.queries_keys_values(self.before_attention(x)).view(shape).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]) + mask
        x = x + self.joined((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.before_mlp(x))


class CharacterModel(nn.Module):
    def __init__(self, context, width, layers, heads):
        super().__init__()
        self.context = context
        self.characters = nn.Embedding(VOCABULARY, width)
        self.places = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, VOCABULARY)
        mask = torch.full((context, context), float("-inf")).triu(1)
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, x):
        length = x.shape[1]
        h = self.characters(x) + self.places.weight[:length]
        for block in self.blocks:
            h = block(h, self.mask[:length, :length])
        return self.head(self.norm(h))


@torch.no_grad()
def write_sample(model, device, length):
    text = [ord(c) for c in "def "]
    torch.manual_seed(0)
    for _ in range(length):
        logits = model(torch.tensor([text[-model.context:]], device=device))[0, -1]
        text.append(int(torch.multinomial((logits / 0.7).softmax(-1), 1)))
    return bytes(text).decode("ascii", "replace")


# ---- checkpoints: "charlm <sha256>\n", then what torch.save writes


class Checkpoints:
    """The newest states of a run in a folder; written by one rank, each file whole or absent."""

    def __init__(self, folder):
        self.folder = folder
        if folder:
            os.makedirs(folder, exist_ok=True)

    def files(self):
        """[(step, path)], newest first."""
        found = [(int(m.group(1)), os.path.join(self.folder, m.group(0)))
                 for name in (os.listdir(self.folder) if self.folder else [])
                 if (m := re.fullmatch(r"step-(\d+)\.pt", name))]
        return sorted(found, reverse=True)

    def save(self, step, state):
        buffer = io.BytesIO()
        torch.save(state, buffer)
        body = buffer.getvalue()
        path = os.path.join(self.folder, f"step-{step:08d}.pt")
        with open(path + ".part", "wb") as file:
            file.write(b"charlm %s\n" % hashlib.sha256(body).hexdigest().encode())
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        os.replace(path + ".part", path)
        for _, old in self.files()[CHECKPOINTS_KEPT:]:
            os.unlink(old)

    def newest(self):
        """The bytes of the newest state that is whole, or b''."""
        for step, path in self.files():
            with open(path, "rb") as file:
                head, _, body = file.read().partition(b"\n")
            if head == b"charlm %s" % hashlib.sha256(body).hexdigest().encode():
                return body
            print(f"the checkpoint of step {step} is damaged ({path}); taking an older one", flush=True)
        return b""


def from_rank_0(body, device):
    """The same bytes on every rank: nodes need not share the checkpoint's folder."""
    if not dist.is_initialized():
        return body
    size = torch.tensor([len(body)], device=device)
    dist.broadcast(size, 0)
    data = torch.empty(int(size), dtype=torch.uint8, device=device)
    if body:
        data.copy_(torch.frombuffer(bytearray(body), dtype=torch.uint8))
    if len(data):
        dist.broadcast(data, 0)
    return bytes(data.tolist())


# ---- what Muster is told


def phase(name):
    return muster.phase(name) if muster and hasattr(muster, "phase") else contextlib.nullcontext()


def checkpoint_folder(options):
    if options.checkpoint_dir:
        return options.checkpoint_dir
    folder = muster.checkpoint_dir() if muster else os.environ.get("MUSTER_CHECKPOINT_DIR")
    return str(folder) if folder else None


def join_group():
    """(rank, world size, device); a process group where there is more than one rank."""
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    local, per_node = int(os.environ.get("LOCAL_RANK", 0)), int(os.environ.get("LOCAL_WORLD_SIZE", 1))
    # CUDA_VISIBLE_DEVICES may show this rank its own device only, or those of its whole node.
    seen = torch.cuda.device_count() if torch.cuda.is_available() else 0
    use_cuda = seen == 1 and per_node == 1 or seen >= per_node
    device = torch.device("cuda", local % seen) if use_cuda and seen else torch.device("cpu")
    if device.type == "cuda":
        torch.cuda.set_device(device)
    elif "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // per_node))
    if world > 1:
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    return rank, world, device


def rate_at(step, options):
    """Warm-up over the first twentieth, then a half cosine down to a tenth."""
    warm = max(1, options.steps // 20)
    if step < warm:
        return options.rate * (step + 1) / warm
    way = (step - warm) / max(1, options.steps - warm)
    return options.rate * (0.55 + 0.45 * math.cos(math.pi * way))


def train(options):
    rank, world, device = join_group()
    torch.manual_seed(options.seed)
    samples = Samples(load_text(int(options.megabytes * 1e6)), options.context)
    plain = CharacterModel(options.context, options.width, options.layers, options.heads).to(device)
    optimizer = torch.optim.AdamW(plain.parameters(), lr=options.rate)
    checkpoints = Checkpoints(checkpoint_folder(options) if rank == 0 else None)

    first = 0
    body = from_rank_0(checkpoints.newest() if rank == 0 else b"", device)
    if body:
        state = torch.load(io.BytesIO(body), map_location=device)
        plain.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        first = state["step"]
    model = nn.parallel.DistributedDataParallel(plain) if world > 1 else plain
    if rank == 0:
        size = sum(p.numel() for p in plain.parameters())
        print(f"{size:,} parameters, {samples.count:,} samples, {world} ranks on {device.type}, "
              f"torch {torch.__version__}, from step {first} to {options.steps}", flush=True)

    began = time.monotonic()
    for step in range(first, options.steps):
        indices = range(step * options.batch + rank, (step + 1) * options.batch, world)
        x, y = (t.to(device) for t in samples.batch(indices)) if indices else (None, None)
        for group in optimizer.param_groups:
            group["lr"] = rate_at(step, options)
        sum_of_losses = F.cross_entropy(model(x).flatten(0, 1), y.flatten(), reduction="sum")
        # DDP averages over ranks: times `world`, so that unequal shares of a batch weigh rightly.
        optimizer.zero_grad()
        (sum_of_losses * world / (options.batch * options.context)).backward()
        nn.utils.clip_grad_norm_(plain.parameters(), 1.0)
        optimizer.step()
        loss = sum_of_losses.item() / y.numel()
        if muster:
            muster.progress(step=step, total=options.steps, loss=loss, samples=len(indices))
        last = step + 1 == options.steps
        if rank == 0 and (last or step % options.log_every == 0):
            speed = (step + 1 - first) * options.batch / (time.monotonic() - began)
            print(f"step {step + 1}/{options.steps}  loss {loss:.3f}  {speed:.0f} samples/s", flush=True)
        if checkpoints.folder and options.checkpoint_every:
            if last or (step + 1) % options.checkpoint_every == 0:
                with phase("checkpoint"):
                    checkpoints.save(step + 1, {"step": step + 1, "model": plain.state_dict(),
                                                "optimizer": optimizer.state_dict()})
    if rank == 0:
        digest = hashlib.sha256()
        for value in plain.state_dict().values():
            digest.update(bytes(value.flatten().view(torch.uint8).tolist()))
        print(f"done: {options.steps} steps, weights {digest.hexdigest()[:16]}")
        if options.sample:
            print("it writes:\n" + write_sample(plain, device, options.sample), flush=True)
    if world > 1:
        dist.barrier()
        dist.destroy_process_group()


def main():
    options = arguments()
    if int(os.environ.get("WORLD_SIZE", 1)) > options.batch:
        sys.exit(f"--batch {options.batch} is smaller than the number of ranks: some would have nothing to do")
    train(options)


if __name__ == "__main__":
    main()

"""`code_shard`: from the pictures of a shard to statistics. A pure function, so it may run twice, and anywhere."""

from __future__ import annotations

import hashlib

import numpy as np

from epitomes.checks import Array, positive, whole
from epitomes.coders import Codes, Lasso
from epitomes.epitome import Epitome
from epitomes.formats import ImageFileError, MissingExtraError
from epitomes.formats.errors import one_line
from epitomes.learn import Moments
from epitomes.patches import Patches
from epitomes.phi import Phi, support_of
from epitomes.scale._collection import Kind, Pixels, Shard
from epitomes.scale.statistics import MOST_NAMED, Skipped, Statistics, packed

SAMPLE = 1000  # patches of a picture
ROWS = 32768  # patches that are coded at once: 8 MB of 8 x 8 pixels in float32


def code_shard(
    epitome: Epitome,
    shard: Shard,
    *,
    lam: float,
    sample: int | None = SAMPLE,
    kind: Kind | None = None,
    seed: int = 0,
    epoch: int = 0,
    threads: int | None = 1,
) -> Statistics:
    """Code patches of the pictures of a shard and return their statistics.

    Parameters
    ----------
    epitome : Epitome
        Epitome to code with.
    shard : Shard
        Pictures.
    lam : float
        Regularisation parameter lambda, in the units of the pictures.
    sample : int, optional
        Number of patches drawn from each picture. None: all of them.
    kind : Kind, optional
        Kind of pictures to use; others are skipped. Default: that of the first one.
    seed : int, default: 0
        Seed of the run.
    epoch : int, default: 0
        Number of the pass over the collection: each one draws other patches.
    threads : int, default: 1
        Number of threads. It does not change the result.

    Returns
    -------
    Statistics
        Sealed statistics. Pictures that cannot be used are skipped, counted and named in it.

    Raises
    ------
    MissingExtraError
        If the pictures need a package that the worker does not have.

    See Also
    --------
    merge : Add the statistics of several shards.

    Notes
    -----
    The positions of the patches of a picture depend on the seed, the epoch and the pixels of the picture. They do not
    depend on its name, on its shard or on the worker.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.learn import smooth_noise
    >>> from epitomes.phi import windows
    >>> from epitomes.scale import code_shard, collection
    >>> images = collection(np.random.default_rng(0).normal(0, 9, (6, 20, 20)), n_axes=2)
    >>> code_shard(smooth_noise(windows((8, 8), (4, 4))), images.shard(0), lam=9.0, sample=50).count
    300
    """
    coder = Lasso(lam=positive("lam", lam))
    work = _Work(epitome, coder, threads)
    phi, skipped, n_pictures = epitome.phi, list[Skipped](), 0
    for member in shard.members:
        name = member.name
        try:
            for name, pixels, found in member.pictures(len(phi.patch_shape)):  # the last name is told
                try:
                    kind = kind or found
                    work.add(_drawn(pixels, phi, found, kind, sample, seed, epoch))
                    n_pictures += 1
                except ValueError as error:
                    skipped.append(Skipped(name, one_line(error)))
        except MissingExtraError:
            raise  # it is the worker's fault, not that of the picture
        except ImageFileError as error:
            skipped.append(Skipped(name, one_line(error)))
    moments = work.finished()
    return Statistics(
        epitome=epitome,
        lam=coder.lam,
        kind=kind or Kind("none", 1),
        cross=moments.cross,
        gram=packed(moments.gram),
        mass=moments.mass,
        energy=moments.energy,
        count=int(moments.count),
        n_nonzero=work.n_nonzero,
        n_pictures=n_pictures,
        n_skipped=len(skipped),
        skipped=tuple(skipped[:MOST_NAMED]),
    ).sealed()


def positions(pixels: Pixels, n_patches: int, sample: int, seed: int, epoch: int) -> np.ndarray:
    """Draw patches of a picture, at most all of them, in increasing order."""
    digest = hashlib.blake2b(np.ascontiguousarray(pixels).reshape(-1).view(np.uint8).data, digest_size=8).digest()
    key = np.random.SeedSequence([seed, epoch, int.from_bytes(digest, "little")])
    random = np.random.Generator(np.random.Philox(key))
    return np.sort(random.choice(n_patches, min(sample, n_patches), replace=False, shuffle=False))


def _drawn(
    pixels: Pixels, phi: Phi, found: Kind, kind: Kind, sample: int | None, seed: int, epoch: int
) -> Patches | Array:
    """Return the patches to code: all windows of a picture, or rows that were drawn."""
    if found != kind:
        raise ValueError(f"it is {found}, and the collection is {kind}: convert it")
    patches = Patches(pixels, phi.patch_shape, support=support_of(phi))
    if sample is None:
        return patches
    chosen = positions(pixels, patches.n_patches, whole("sample", sample, least=1), seed, epoch)
    return patches.at_index(chosen)[0]


class _Work:
    """Codes patches in large blocks, whatever the size of the pictures, and sums them up."""

    def __init__(self, epitome: Epitome, coder: Lasso, threads: int | None) -> None:
        self._epitome, self._coder, self._threads = epitome, coder, threads
        p, m = epitome.phi.n_atoms, epitome.phi.patch_size
        self._moments = Moments(np.zeros((p, p)), np.zeros((p, m)), np.zeros(p), 0.0, 0.0)
        self._waiting: list[Array] = []
        self.n_nonzero = 0

    def add(self, patches: Patches | Array) -> None:
        """Add patches of one picture."""
        if isinstance(patches, Patches):
            self._code(patches)
            return
        if self._waiting and self._waiting[0].dtype != patches.dtype:
            self._flush()  # joined, they would all get the wider type: the bits of a patch depend on its picture alone
        self._waiting.append(patches)
        if sum(map(len, self._waiting)) >= ROWS:
            self._flush()

    def finished(self) -> Moments:
        """Code what is left and return the sums."""
        self._flush()
        return self._moments

    def _flush(self) -> None:
        if self._waiting:
            rows, self._waiting = np.concatenate(self._waiting), []
            self._code(rows)

    def _code(self, patches: Patches | Array) -> None:
        codes: Codes = self._coder.encode(patches, self._epitome.dictionary, threads=self._threads)
        self.n_nonzero += int(codes.nnz)
        self._moments = self._moments.then(patches, codes, threads=self._threads)

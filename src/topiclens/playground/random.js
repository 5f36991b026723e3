// Random numbers from a seed: the xoshiro128** generator (Blackman and Vigna, 2018) and what is drawn with it.
// Knows nothing of documents or models.

export class Random {
  constructor(seed) {
    // The four words of state come from the seed by splitmix32's mixing, so that near seeds give far states.
    let x = seed >>> 0;
    this.state = Uint32Array.from({ length: 4 }, () => {
      x = (x + 0x9e3779b9) >>> 0;
      let z = x;
      z = Math.imul(z ^ (z >>> 16), 0x85ebca6b);
      z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35);
      return z ^ (z >>> 16);
    });
    this.spare = NaN; // the second number of a Box-Muller pair
  }

  // A whole number from 0 to 2³² − 1.
  bits() {
    const s = this.state;
    const five = Math.imul(s[1], 5);
    const result = Math.imul((five << 7) | (five >>> 25), 9) >>> 0;
    const t = s[1] << 9;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = (s[3] << 11) | (s[3] >>> 21);
    return result;
  }

  // Uniform on [0, 1).
  uniform() {
    return this.bits() * 2 ** -32;
  }

  // A whole number from 0 to n − 1. Off uniform by less than n / 2³².
  below(n) {
    return Math.floor(this.uniform() * n);
  }

  // Standard normal, by Box and Muller.
  gaussian() {
    if (!Number.isNaN(this.spare)) {
      const second = this.spare;
      this.spare = NaN;
      return second;
    }
    const radius = Math.sqrt(-2 * Math.log(1 - this.uniform()));
    const angle = 2 * Math.PI * this.uniform();
    this.spare = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  }

  // The logarithm of a Gamma(shape) number, by Marsaglia and Tsang (2000). The number itself would be 0 in
  // floating point for many a draw of small shape.
  logGamma(shape) {
    if (shape < 1) return this.logGamma(shape + 1) + Math.log(1 - this.uniform()) / shape;
    const d = shape - 1 / 3;
    for (;;) {
      const x = this.gaussian();
      const v = (1 + x / Math.sqrt(9 * d)) ** 3;
      if (v > 0 && Math.log(1 - this.uniform()) < x * x / 2 + d * (1 - v + Math.log(v))) return Math.log(d * v);
    }
  }

  // (size,) from the symmetric Dirichlet(alpha).
  dirichlet(alpha, size) {
    const logs = Float64Array.from({ length: size }, () => this.logGamma(alpha));
    const largest = Math.max(...logs);
    const theta = logs.map((x) => Math.exp(x - largest));
    const total = theta.reduce((sum, x) => sum + x, 0);
    return theta.map((x) => x / total);
  }
}

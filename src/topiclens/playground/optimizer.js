// Descent along gradients, as torch.optim does it. Knows arrays only, no model.

// W ← W − lr · gradient, for each name in `gradients`.
export class Sgd {
  constructor(lr) {
    this.lr = lr;
  }

  step(matrices, gradients) {
    for (const name of Object.keys(gradients)) {
      const W = matrices[name], g = gradients[name];
      for (let i = 0; i < W.length; i++) W[i] -= this.lr * g[i];
    }
  }
}

// Adam (Kingma and Ba, 2015) with torch's defaults: means of the gradient and of its square that forget with
// β₁ = 0.9 and β₂ = 0.999, both corrected for their start at 0.
export class Adam {
  constructor(lr) {
    this.lr = lr;
    this.steps = 0;
    this.means = {}; // name → [first, second]
  }

  step(matrices, gradients) {
    const beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
    this.steps++;
    const size = this.lr / (1 - beta1 ** this.steps);
    const correction = 1 / Math.sqrt(1 - beta2 ** this.steps);
    for (const name of Object.keys(gradients)) {
      const W = matrices[name], g = gradients[name];
      const [first, second] = (this.means[name] ??= [W.slice().fill(0), W.slice().fill(0)]);
      for (let i = 0; i < W.length; i++) {
        first[i] += (1 - beta1) * (g[i] - first[i]);
        second[i] = beta2 * second[i] + (1 - beta2) * g[i] * g[i];
        W[i] -= size * first[i] / (Math.sqrt(second[i]) * correction + epsilon);
      }
    }
  }
}

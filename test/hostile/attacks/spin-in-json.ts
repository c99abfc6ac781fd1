// JSON text of a large object, over and over.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(
  `const all = Array.from({ length: 20_000 }, (_, i) => ({ i, text: 'x'.repeat(20) })); for (;;) JSON.parse(JSON.stringify(all));`,
);

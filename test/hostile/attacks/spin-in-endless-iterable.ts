// A URLSearchParams made from an iterable without end.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(
  `new URLSearchParams({ *[Symbol.iterator]() { for (;;) yield ['a', 'b']; } }); return new Response('late');`,
);

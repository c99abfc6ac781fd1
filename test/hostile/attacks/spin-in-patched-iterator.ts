// Array.prototype[Symbol.iterator], which the platform's own code could run into when it answers.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(
  `Array.prototype[Symbol.iterator] = function () { for (;;); }; setTimeout(() => {}, 1); for (const x of [1]); return new Response('late');`,
);

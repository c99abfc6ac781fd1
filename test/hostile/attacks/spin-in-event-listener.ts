// A listener of an EventTarget.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(
  `const target = new EventTarget(); target.addEventListener('x', () => { for (;;); }); target.dispatchEvent(new Event('x')); return new Response('late');`,
);

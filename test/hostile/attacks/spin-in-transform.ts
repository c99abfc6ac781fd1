// A TransformStream that never returns from transform.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(
  `const { readable, writable } = new TransformStream({ transform() { for (;;); } }); const writer = writable.getWriter(); writer.write('x'); return new Response(await new Response(readable).text());`,
);

// zod and valibot over the same body. Run by test/integration/packages.test.ts.
import { z } from 'zod';
import * as v from 'valibot';

const User = z.object({
  name: z.string().min(2),
  email: z.email(),
  tags: z.array(z.string()).default([]),
  age: z.coerce.number().int().optional(),
});
const Person = v.pipe(
  v.object({ name: v.pipe(v.string(), v.minLength(2)), email: v.pipe(v.string(), v.email()) }),
  v.transform(({ name }) => name.toUpperCase()),
);

export default {
  async fetch(request) {
    const body = await request.json();
    const zod = User.safeParse(body);
    const valibot = v.safeParse(Person, body);
    return Response.json({
      zod: zod.success ? zod.data : zod.error.issues.map(({ path, code }) => [path.join('.'), code]),
      schema: z.toJSONSchema(User).required,
      valibot: valibot.success ? valibot.output : valibot.issues.map((issue) => [v.getDotPath(issue), issue.type]),
    });
  },
};

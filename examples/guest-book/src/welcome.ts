// What happens around a guest's first entry: thanks at once, and a letter when some time has passed. The run sleeps
// meanwhile: it holds no memory, and outlives restarts and new versions of this file that keep its steps.
import { platform } from '@platform-run/worker';
import { z } from 'zod';

const Guest = z.object({ id: z.string(), email: z.email(), name: z.string() });
const dayMs = 24 * 60 * 60 * 1000;

/** Starts the run of a guest; there is one for each, however often this is called. */
export async function greetOnce(env: PlatformEnv, { id, email, name }: z.input<typeof Guest>): Promise<void> {
  await env.WELCOME.trigger({ id, email, name }, { id: `welcome-${id}` });
}

export const welcome = platform<PlatformEnv>().workflow(
  'welcome',
  { input: Guest },
  async ({ env, vars, input, step, log }) => {
    await step.run('thank', () =>
      env.MAIL.send({
        to: input.email,
        subject: 'Thank you',
        text: `It was good to have you here, ${input.name || 'guest'}.`,
      }),
    );
    // Variables may change while the run sleeps: what it decided is a step.
    const sleepMs = await step.run('decide how long', () => Number(vars['FOLLOW_UP_MS'] ?? dayMs));
    await step.sleep(sleepMs);
    const written = await step.run('count', async () => {
      const count = await env.DB.prepare('SELECT count(*) AS n FROM entries WHERE user_id = ? AND deleted_at IS NULL')
        .bind(input.id)
        .first<number>('n');
      return count ?? 0;
    });
    log('Guest came back', { written });
    await step.run('ask back', () =>
      env.MAIL.send({
        to: input.email,
        subject: 'Come again',
        text: `The book has ${written} of your entries. Room for more!`,
      }),
    );
    return { written };
  },
);

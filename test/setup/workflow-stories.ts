// Ten workflows after Cloudflare's published interface, for the suite `workflows`: they run here and on miniflare, and
// here through a kill in each of their steps.

/** Names of the classes, which are the names of their workflows in lower case. */
export const storyNames = [
  'Constant',
  'Linear',
  'Exponential',
  'Computed',
  'Events',
  'Impatient',
  'Refused',
  'Caught',
  'Sleeper',
  'Parallel',
] as const;

type StoryName = (typeof storyNames)[number];

/** Events that the test sends: before and after the run waits for them. */
export const storyEvents: Readonly<
  Partial<Record<StoryName, readonly { readonly type: string; readonly payload: unknown }[]>>
> = {
  Events: [
    { type: 'paid', payload: { cents: 1200 } },
    { type: 'shipped', payload: { parcel: 'XY1' } },
  ],
};

/** What each comes to, wherever it runs. */
export const storyEnds: Readonly<Record<StoryName, { readonly status: string; readonly [field: string]: unknown }>> = {
  Constant: { status: 'complete', output: { attempt: 3, after: 'constant' } },
  Linear: { status: 'complete', output: { attempt: 3, after: 'linear' } },
  Exponential: { status: 'complete', output: { attempt: 4, after: 'exponential' } },
  Computed: { status: 'complete', output: { attempt: 3, after: 'computed' } },
  Events: { status: 'complete', output: { opened: 'order', cents: 1200, packed: 'packed', parcel: 'XY1' } },
  Impatient: { status: 'complete', output: { error: 'Execution timed out after 60ms', instead: 'reminded' } },
  Refused: { status: 'errored', message: 'The card was declined', undone: ['second', 'first'] },
  Caught: { status: 'complete', output: { caught: 'No such user', instead: 'guest' } },
  Sleeper: { status: 'complete', output: { items: ['item 0', 'item 1', 'item 2'], woke: 'awake' } },
  Parallel: { status: 'complete', output: { parts: ['a', 'b', 'c'], settled: ['fulfilled', 'rejected'], sum: 3 } },
};

/**
 * The classes. `work(this, name, value)` is what a step does, and `noted(this, name)` what a rollback does.
 *
 * @param prelude code that declares both
 */
export function storySource(prelude: string): string {
  return `
import { WorkflowEntrypoint } from 'cloudflare:workers';
import { NonRetryableError } from 'cloudflare:workflows';
${prelude}
const flaky = (self, retries, last) => [
  'flaky',
  { retries, timeout: '5 minutes' },
  async ({ attempt }) => {
    await work(self, 'flaky', null);
    times(self.constructor.name);
    if (attempt < last) throw new Error('attempt ' + attempt);
    return attempt;
  },
];
class Story extends WorkflowEntrypoint {
  async run(event, step) {
    this.id = event.instanceId;
    return this.tell(step, event.payload);
  }
}
export class Constant extends Story {
  async tell(step) {
    const attempt = await step.do(...flaky(this, { limit: 3, delay: 20, backoff: 'constant' }, 3));
    return { attempt, after: await step.do('after', () => work(this, 'after', 'constant')) };
  }
}
export class Linear extends Story {
  async tell(step) {
    const attempt = await step.do(...flaky(this, { limit: 2, delay: '0.02 seconds', backoff: 'linear' }, 3));
    return { attempt, after: await step.do('after', () => work(this, 'after', 'linear')) };
  }
}
export class Exponential extends Story {
  async tell(step) {
    const attempt = await step.do(...flaky(this, { limit: 5, delay: 20, backoff: 'exponential' }, 4));
    return { attempt, after: await step.do('after', () => work(this, 'after', 'exponential')) };
  }
}
export class Computed extends Story {
  async tell(step) {
    const delay = ({ ctx, error }) => (error.message === 'attempt ' + ctx.attempt ? ctx.attempt * 20 : '1 day');
    const attempt = await step.do(...flaky(this, { limit: 2, delay, backoff: 'constant' }, 3));
    return { attempt, after: await step.do('after', () => work(this, 'after', 'computed')) };
  }
}
export class Events extends Story {
  async tell(step) {
    const opened = await step.do('open', () => work(this, 'open', 'order'));
    const paid = await step.waitForEvent('payment', { type: 'paid', timeout: '1 hour' });
    const packed = await step.do('pack', () => work(this, 'pack', 'packed'));
    const shipped = await step.waitForEvent('parcel', { type: 'shipped' });
    await step.do('tell', () => work(this, 'tell', null));
    return { opened, cents: paid.payload.cents, packed, parcel: shipped.payload.parcel };
  }
}
export class Impatient extends Story {
  async tell(step) {
    await step.do('ask', () => work(this, 'ask', null));
    try {
      await step.waitForEvent('answer', { type: 'answered', timeout: 60 });
    } catch (error) {
      return { error: error.message, instead: await step.do('remind', () => work(this, 'remind', 'reminded')) };
    }
  }
}
export class Refused extends Story {
  async tell(step) {
    const undo = (name) => ({ rollback: async ({ output }) => { if (output === name) await noted(this, name); } });
    await step.do('first', () => work(this, 'first', 'first'), undo('first'));
    await step.do('second', { retries: { limit: 1, delay: 10 } }, () => work(this, 'second', 'second'), undo('second'));
    await step.do('charge', { retries: { limit: 5, delay: '1 day' } }, async () => {
      await work(this, 'charge', null);
      throw new NonRetryableError('The card was declined');
    });
    await step.do('never', () => work(this, 'never', null));
  }
}
export class Caught extends Story {
  async tell(step) {
    let caught;
    try {
      await step.do('look up', async () => {
        await work(this, 'look up', null);
        throw new NonRetryableError('No such user');
      });
    } catch (error) {
      // miniflare puts the name before the message.
      caught = error.message.replace(/^NonRetryableError: /, '');
    }
    return { caught, instead: await step.do('instead', () => work(this, 'instead', 'guest')) };
  }
}
export class Sleeper extends Story {
  async tell(step) {
    const items = [];
    for (let n = 0; n < 3; n++) {
      items.push(await step.do('item', ({ step: { count } }) => work(this, 'item ' + count, 'item ' + (count - 1))));
      await step.sleep('pause ' + n, 20);
    }
    const until = await step.do('plan', () => work(this, 'plan', Date.now() + 3000));
    await step.sleepUntil('until', until);
    return { items, woke: await step.do('wake', () => work(this, 'wake', 'awake')) };
  }
}
export class Parallel extends Story {
  async tell(step) {
    const parts = await Promise.all(['a', 'b', 'c'].map((name) => step.do(name, () => work(this, name, name))));
    const settled = await Promise.allSettled([
      step.do('good', () => work(this, 'good', 1)),
      step.do('bad', { retries: { limit: 0, delay: 0 } }, async () => {
        await work(this, 'bad', null);
        throw new Error('bad');
      }),
    ]);
    await step.sleep('breathe', '0.02 seconds');
    const sum = await step.do('sum', () => work(this, 'sum', parts.length));
    return { parts, settled: settled.map(({ status }) => status), sum };
  }
}
`;
}

/** `workflow` of platform.yaml with all of them. */
export const storyYaml = `workflow:\n${storyNames
  .map((name) => `  ${name.toUpperCase()}: { name: ${name.toLowerCase()}, class: ${name} }`)
  .join('\n')}\n`;

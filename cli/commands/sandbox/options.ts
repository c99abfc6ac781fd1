// What a sandbox is made of, as flags say it. For the commands that make one; the API checks what is said.

/** Null for the API; an image of this name has a tag as well. */
const OPERATOR = 'operator';

/** Flags of commands that may make a sandbox, or another machine for it. */
export const optionFlags = {
  machine: {
    type: 'string',
    valueHint: 'size',
    description: 'How large it is: small, default, large, xlarge, or operator: as without',
  },
  image: { type: 'string', valueHint: 'name', description: 'The system it sees, of those that the operator allows' },
  egress: {
    type: 'string',
    valueHint: 'all|none|hosts',
    description: 'What it may reach: all, none, or these hosts, with commas between',
  },
  ai: {
    type: 'string',
    valueHint: 'on|off',
    description: 'Whether its commands have a token for the AI gateway: on or off',
  },
} as const;

/** Of commands that make one where there is none. */
export const snapshotFlag = {
  snapshot: { type: 'string', valueHint: 'id', description: 'Where there is none yet: begin with these files' },
} as const;

/** Their values. */
export interface OptionFlags {
  readonly machine?: string | undefined;
  readonly image?: string | undefined;
  readonly egress?: string | undefined;
  readonly ai?: string | undefined;
  readonly snapshot?: string | undefined;
}

/**
 * As the API takes them; undefined: nothing is said. `operator` goes back to what the operator has.
 *
 * @example optionsOf({ egress: 'api.example.com' }) // { egress: { mode: 'allow', allow: ['api.example.com'] } }
 */
export function optionsOf({ machine, image, egress, ai, snapshot }: OptionFlags): object | undefined {
  const said = {
    ...(machine !== undefined && { machine: machine === OPERATOR ? null : machine }),
    ...(image !== undefined && { image: image === OPERATOR ? null : image }),
    ...(egress !== undefined && { egress: egress === OPERATOR ? null : toEgress(egress) }),
    ...(ai !== undefined && { ai: ai === OPERATOR ? null : toSwitch(ai) }),
    ...(snapshot !== undefined && { snapshot }),
  };
  return Object.keys(said).length === 0 ? undefined : said;
}

function toEgress(text: string): object {
  if (text === 'all' || text === 'none') return { mode: text };
  return { mode: 'allow', allow: text.split(',').map((name) => name.trim()) };
}

/** What is neither the API refuses. */
function toSwitch(text: string): boolean | string {
  return text === 'on' ? true : text === 'off' ? false : text;
}

// Options of a sandbox as flags of the commands that create sandboxes. The API validates the values.

/** The word that resets an option, which is sent as null to the API. An image with this name needs a tag. */
const OPERATOR = 'operator';

/** Flags of commands that create a sandbox or its machine. */
export const optionFlags = {
  machine: {
    type: 'string',
    valueHint: 'size',
    description: 'Machine size: small, default, large, xlarge, or operator for the default',
  },
  image: { type: 'string', valueHint: 'name', description: 'Image, from those allowed by the operator' },
  egress: {
    type: 'string',
    valueHint: 'all|none|hosts',
    description: 'Allowed outgoing traffic: all, none, or hosts separated by commas',
  },
  ai: {
    type: 'string',
    valueHint: 'on|off',
    description: 'Access to the AI gateway: on or off',
  },
} as const;

/** Flag of commands that create a missing sandbox. */
export const snapshotFlag = {
  snapshot: { type: 'string', valueHint: 'id', description: 'Snapshot for the files of a new sandbox' },
} as const;

/** Values of the flags. */
interface OptionFlags {
  readonly machine?: string | undefined;
  readonly image?: string | undefined;
  readonly egress?: string | undefined;
  readonly ai?: string | undefined;
  readonly snapshot?: string | undefined;
}

/**
 * Options in the format of the API; undefined without flags. `operator` resets an option to the operator's default.
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

/** Converts `on` and `off`. The API refuses other values. */
function toSwitch(text: string): boolean | string {
  return text === 'on' ? true : text === 'off' ? false : text;
}

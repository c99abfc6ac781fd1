// Channels of alerts: their kinds, and the encrypted part of each. Used by deliver.ts and the routes of channels.

export const channelKinds = ['webhook', 'slack', 'discord', 'mail'] as const;
export type ChannelKind = (typeof channelKinds)[number];

/** The encrypted part of a channel, as JSON. */
export type ChannelSecret =
  | { readonly url: string; readonly secret?: string }
  | {
      /** An email address. */
      readonly to: string;
    };

// structuredClone and the channels that clone their messages. lazy.ts loads this module when it is first used.
import { provideModule } from '../modules.ts';
import { structuredClone } from './messages/structured-clone.ts';

export { BroadcastChannel, MessageChannel, MessagePort } from './messages/message-channel.ts';
export { structuredClone };

declare module '../modules.ts' {
  interface Modules {
    messages: { readonly structuredClone: typeof structuredClone };
  }
}

provideModule('messages', { structuredClone });

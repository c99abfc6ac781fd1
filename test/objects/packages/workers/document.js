// y-partyserver: a document that its visitors edit together, kept in the storage of the object.
import { routePartykitRequest } from 'partyserver';
import { YServer } from 'y-partyserver';
import { applyUpdate, encodeStateAsUpdate } from 'yjs';

export class Document extends YServer {
  static options = { hibernate: true };
  static callbackOptions = { debounceWait: 10, debounceMaxWait: 50 };

  async onLoad() {
    const stored = await this.ctx.storage.get('document');
    if (stored !== undefined) applyUpdate(this.document, stored);
  }

  async onSave() {
    await this.ctx.storage.put('document', encodeStateAsUpdate(this.document));
  }

  async onRequest() {
    return new Response(this.document.getText('text').toString());
  }
}

export default {
  async fetch(request, env) {
    return (await routePartykitRequest(request, env)) ?? new Response('no document', { status: 404 });
  },
};

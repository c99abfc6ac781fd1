import { Component, inject } from '@angular/core';
import { ActivatedRoute } from '@angular/router';

@Component({
  selector: 'app-form',
  // Angular leaves it to the browser to send it.
  template: `
    <form method="post" action="/send" ngNoForm>
      <input name="name" />
      <button>Send</button>
    </form>
    @if (name) {
      <p>Thanks, {{ name }}</p>
    }
  `,
})
export class Form {
  protected readonly name = inject(ActivatedRoute).snapshot.queryParamMap.get('name');
}

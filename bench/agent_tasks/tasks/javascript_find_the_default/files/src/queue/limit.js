export class Limit {
  constructor(count) {
    this.count = count;
  }

  open() {
    return this.count;
  }
}

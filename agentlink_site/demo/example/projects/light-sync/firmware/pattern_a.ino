// Pattern A: on for 20 ms, off for 20 ms.
#include "pwm.h"

void setup() { pwmBegin(PWM_HZ); }

void loop() {
  pwmWrite(255);
  delay(20);
  pwmWrite(0);
  delay(20);
}
